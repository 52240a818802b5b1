//! The web page of a memory: what an agent knows, what its prompts received, whether that helped,
//! and what a person has to decide.
//!
//! Each page runs operations of the catalogue ([`reprise_operations`]), as every other interface
//! does, and renders their answers as HTML.

mod admin;
mod assets;
mod backup_files;
mod chart;
mod compress;
mod guard;
mod kept_reviews;
mod markdown;
mod page;
mod pages;
mod pairs;
mod prelude;
mod rows;
mod shell;
mod sign_in;
mod text;
mod undo;
mod upload;

pub use admin::{
    ADMIN_ASSETS, ADMIN_FORM_TOKEN, AdminAct, AdminField, AdminPage, AdminRow, AdminTable,
    build_admin_asset_router, guard_admin_request, render_admin_page, render_admin_sign_in,
};
pub use backup_files::{
    BackupFile, BackupInterval, BackupOrigin, BackupSchedule, RestorePreview, RestoredBackup,
    SCHEDULED_KEPT_MAX, UploadFile, UploadedImport,
};
pub use guard::{is_look_ahead, send_on_signed_in};
pub use page::{AgentProgram, ByteStream, PageHost, Setting, Token, UserFile, WebPage};
pub use sign_in::{PageGrant, SignInLink};
