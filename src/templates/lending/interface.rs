//! The market's Solidity interface: functions and events of Aave v3's IPool, of its data provider, oracle and interest rate strategy, and what
//! is the market's own.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// Lends one token against one collateral.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract Lending {
        constructor(address token, address collateral, address oracle, address tokenOracle, uint16 ltv, uint16 liquidationThreshold, uint16 liquidationBonus, uint16 reserveFactor, uint16 optimalUsageRatio, uint16 baseVariableBorrowRate, uint16 variableRateSlope1, uint16 variableRateSlope2, uint32 maxPriceAge, address owner);

        event Supply(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint16 indexed referralCode);
        event Withdraw(address indexed reserve, address indexed user, address indexed to, uint256 amount);
        event Borrow(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint8 interestRateMode, uint256 borrowRate, uint16 indexed referralCode);
        event Repay(address indexed reserve, address indexed user, address indexed repayer, uint256 amount, bool useATokens);
        event LiquidationCall(address indexed collateralAsset, address indexed debtAsset, address indexed user, uint256 debtToCover, uint256 liquidatedCollateralAmount, address liquidator, bool receiveAToken);
        event ReserveUsedAsCollateralEnabled(address indexed reserve, address indexed user);
        event ReserveUsedAsCollateralDisabled(address indexed reserve, address indexed user);
        event ReserveDataUpdated(address indexed reserve, uint256 liquidityRate, uint256 stableBorrowRate, uint256 variableBorrowRate, uint256 liquidityIndex, uint256 variableBorrowIndex);
        event MintedToTreasury(address indexed reserve, uint256 amountMinted);
        event DeficitCreated(address indexed user, address indexed debtAsset, uint256 amountCreated);
        event DeficitCovered(address indexed reserve, address caller, uint256 amountCovered);
        event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

        error SafeERC20FailedOperation(address token);
        error SafeCastOverflowedUintDowncast(uint8 bits, uint256 value);
        error ReentrancyGuardReentrantCall();
        error OwnableUnauthorizedAccount(address account);
        error OwnableInvalidOwner(address owner);
        /// Suppliers' tokens are lent: fewer are there than are asked for.
        error LendingInsufficientLiquidity(uint256 available, uint256 needed);
        /// A feed's latest answer is no price.
        error LendingInvalidPrice(address oracle, int256 answer);
        /// A feed's latest answer is older than the market accepts, in seconds, or of the future.
        error LendingStalePrice(address oracle, uint256 updatedAt, uint256 maxAge);
        /// The two feeds have answers of different decimals, so that they are not in one currency.
        error LendingFeedDecimalsMismatch(uint8 decimals, uint8 tokenFeedDecimals);

        function supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode) external;
        function withdraw(address asset, uint256 amount, address to) external returns (uint256);
        function borrow(address asset, uint256 amount, uint256 interestRateMode, uint16 referralCode, address onBehalfOf) external;
        function repay(address asset, uint256 amount, uint256 interestRateMode, address onBehalfOf) external returns (uint256);
        function liquidationCall(address collateralAsset, address debtAsset, address user, uint256 debtToCover, bool receiveAToken) external;
        function mintToTreasury(address[] calldata assets) external;
        function eliminateReserveDeficit(address asset, uint256 amount) external returns (uint256);
        function getUserAccountData(address user) external view returns (uint256 totalCollateralBase, uint256 totalDebtBase, uint256 availableBorrowsBase, uint256 currentLiquidationThreshold, uint256 ltv, uint256 healthFactor);
        function getReservesList() external view returns (address[] memory);
        function getReserveNormalizedIncome(address asset) external view returns (uint256);
        function getReserveNormalizedVariableDebt(address asset) external view returns (uint256);
        function getReserveDeficit(address asset) external view returns (uint256);
        function getVirtualUnderlyingBalance(address asset) external view returns (uint128);
        function getReserveData(address asset) external view returns (uint256 unbacked, uint256 accruedToTreasuryScaled, uint256 totalAToken, uint256 totalStableDebt, uint256 totalVariableDebt, uint256 liquidityRate, uint256 variableBorrowRate, uint256 stableBorrowRate, uint256 averageStableBorrowRate, uint256 liquidityIndex, uint256 variableBorrowIndex, uint40 lastUpdateTimestamp);
        function getUserReserveData(address asset, address user) external view returns (uint256 currentATokenBalance, uint256 currentStableDebt, uint256 currentVariableDebt, uint256 principalStableDebt, uint256 scaledVariableDebt, uint256 stableBorrowRate, uint256 liquidityRate, uint40 stableRateLastUpdated, bool usageAsCollateralEnabled);
        function getReserveConfigurationData(address asset) external view returns (uint256 decimals, uint256 ltv, uint256 liquidationThreshold, uint256 liquidationBonus, uint256 reserveFactor, bool usageAsCollateralEnabled, bool borrowingEnabled, bool stableBorrowRateEnabled, bool isActive, bool isFrozen);
        function getAssetPrice(address asset) external view returns (uint256);
        function getSourceOfAsset(address asset) external view returns (address);
        function maxPriceAge() external view returns (uint256);
        function OPTIMAL_USAGE_RATIO() external view returns (uint256);
        function getBaseVariableBorrowRate() external view returns (uint256);
        function getVariableRateSlope1() external view returns (uint256);
        function getVariableRateSlope2() external view returns (uint256);
        function getMaxVariableBorrowRate() external view returns (uint256);
        function owner() external view returns (address);
        function transferOwnership(address newOwner) external;
        function renounceOwnership() external;
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
    }
}

pub use Lending::*;

/// What the market calls of a price feed.
pub(super) mod feed {
    alloy_sol_types::sol! {
        #[sol(extra_derives(Debug, PartialEq, Eq))]
        interface AggregatorV3Interface {
            function decimals() external view returns (uint8);
            function latestRoundData() external view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound);
        }
    }
}
