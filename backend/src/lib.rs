//! The backend library.
