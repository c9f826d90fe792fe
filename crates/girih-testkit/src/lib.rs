//! girih-testkit
