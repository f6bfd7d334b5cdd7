//! The pool against a simple model.
