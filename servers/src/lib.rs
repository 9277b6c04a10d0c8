//! Real servers, started by the tests, the examples and the benchmarks.
