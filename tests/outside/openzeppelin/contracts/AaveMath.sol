// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.27;

import {IPoolAddressesProvider} from "@aave/core-v3/contracts/interfaces/IPoolAddressesProvider.sol";
import {MathUtils} from "@aave/core-v3/contracts/protocol/libraries/math/MathUtils.sol";
import {PercentageMath} from "@aave/core-v3/contracts/protocol/libraries/math/PercentageMath.sol";
import {WadRayMath} from "@aave/core-v3/contracts/protocol/libraries/math/WadRayMath.sol";
import {DataTypes} from "@aave/core-v3/contracts/protocol/libraries/types/DataTypes.sol";
import {DefaultReserveInterestRateStrategy} from
    "@aave/core-v3/contracts/protocol/pool/DefaultReserveInterestRateStrategy.sol";

/// Aave v3's arithmetic and interest rates, to be called.
contract AaveMath {
    uint256 private _cash;

    function rayMul(uint256 a, uint256 b) external pure returns (uint256) {
        return WadRayMath.rayMul(a, b);
    }

    function rayDiv(uint256 a, uint256 b) external pure returns (uint256) {
        return WadRayMath.rayDiv(a, b);
    }

    function wadDiv(uint256 a, uint256 b) external pure returns (uint256) {
        return WadRayMath.wadDiv(a, b);
    }

    function percentMul(uint256 value, uint256 percentage) external pure returns (uint256) {
        return PercentageMath.percentMul(value, percentage);
    }

    function percentDiv(uint256 value, uint256 percentage) external pure returns (uint256) {
        return PercentageMath.percentDiv(value, percentage);
    }

    function linearInterest(uint256 rate, uint40 time) external view returns (uint256) {
        return MathUtils.calculateLinearInterest(rate, uint40(block.timestamp) - time);
    }

    function compoundedInterest(uint256 rate, uint40 time) external pure returns (uint256) {
        return MathUtils.calculateCompoundedInterest(rate, 0, time);
    }

    /// The strategy asks the reserve for the liquidity that is there.
    function balanceOf(address) external view returns (uint256) {
        return _cash;
    }

    /// Optimal usage, base rate and slopes are `terms`, in rays; `deficit` counts as Aave 3.3 has it, with what is unbacked.
    function rates(uint256[4] calldata terms, uint256 cash, uint256 debt, uint256 deficit, uint256 reserveFactor)
        external
        returns (uint256 liquidityRate, uint256 variableBorrowRate)
    {
        _cash = cash;
        DefaultReserveInterestRateStrategy strategy = new DefaultReserveInterestRateStrategy(
            IPoolAddressesProvider(address(0)), terms[0], terms[1], terms[2], terms[3], 0, 0, 0, 0, 0
        );
        DataTypes.CalculateInterestRatesParams memory params;
        params.unbacked = deficit;
        params.totalVariableDebt = debt;
        params.reserveFactor = reserveFactor;
        params.reserve = address(this);
        params.aToken = address(this);
        (liquidityRate,, variableBorrowRate) = strategy.calculateInterestRates(params);
    }
}
