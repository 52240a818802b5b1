//! Placeholder head: replaced by the room's first commit.
