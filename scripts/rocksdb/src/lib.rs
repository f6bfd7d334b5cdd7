//! Nothing: the package exists for what its dependency compiles.
