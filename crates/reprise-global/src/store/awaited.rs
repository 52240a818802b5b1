//! A handle to what a service may start before, such as its database.

use std::sync::{Arc, OnceLock};

use crate::error::{GlobalError, GlobalResult};

/// Something that is there now or later. Cheap to clone: all clones find the same.
#[derive(Debug)]
pub struct AwaitedHandle<T: ?Sized>(Arc<OnceLock<Arc<T>>>);

impl<T: ?Sized> AwaitedHandle<T> {
    pub fn from_value(value: Arc<T>) -> Self {
        Self(Arc::new(value.into()))
    }

    /// Says that it is there; the first one stays.
    pub fn set(&self, value: Arc<T>) {
        let _is_first = self.0.set(value).is_ok();
    }

    /// Returns it; the error says that it is not there yet.
    pub fn get(&self) -> GlobalResult<&T> {
        let value = self.0.get();
        value
            .map(AsRef::as_ref)
            .ok_or_else(|| GlobalError::unavailable("its database is not there yet"))
    }
}

impl<T: ?Sized> Default for AwaitedHandle<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: ?Sized> Clone for AwaitedHandle<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
