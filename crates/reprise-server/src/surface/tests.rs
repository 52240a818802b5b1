//! No question is answered by reading the disk on a thread that serves others.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::{fmt, io};

use reprise_agent::MemoryService;
use reprise_engine::Engine;
use reprise_store::{Disk, DiskFile, FileIdentity, LockAttempt, RealDisk};
use reprise_types::{SystemClock, UserId};
use serde_json::json;

use super::{Kept, Surface};
use crate::hooks::{HookEvent, HookReport};
use crate::place::Place;

/// The real disk; counts what one thread asks of it.
#[derive(Debug, Default)]
struct Watch {
    server: Mutex<Option<ThreadId>>,
    asked: AtomicUsize,
}

impl Watch {
    fn look(&self) {
        if *self.server.lock().unwrap() == Some(thread::current().id()) {
            self.asked.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[derive(Debug)]
struct WatchedDisk(Arc<Watch>);

struct WatchedFile(Arc<dyn DiskFile>, Arc<Watch>);

impl fmt::Debug for WatchedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Disk for WatchedDisk {
    fn open(&self, path: &Path, writable: bool) -> io::Result<Arc<dyn DiskFile>> {
        self.0.look();
        let file = RealDisk.open(path, writable)?;
        Ok(Arc::new(WatchedFile(file, Arc::clone(&self.0))))
    }

    fn open_or_create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.0.look();
        let file = RealDisk.open_or_create(path)?;
        Ok(Arc::new(WatchedFile(file, Arc::clone(&self.0))))
    }

    fn lock(&self, path: &Path) -> io::Result<LockAttempt> {
        RealDisk.lock(path)
    }

    fn identity(&self, path: &Path) -> io::Result<Option<FileIdentity>> {
        RealDisk.identity(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.link(from, to)
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        RealDisk.make_folder(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        RealDisk.sync_dir(path)
    }
}

impl DiskFile for WatchedFile {
    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.1.look();
        self.0.read_exact_at(offset, out)
    }

    fn write_all_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.1.look();
        self.0.write_all_at(offset, bytes)
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.0.set_size(size)
    }

    fn sync(&self) -> io::Result<()> {
        self.1.look();
        self.0.sync()
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        self.0.identity()
    }

    fn links(&self) -> io::Result<u64> {
        self.0.links()
    }
}

#[tokio::test]
async fn nothing_waits_for_the_disk_on_the_thread_that_serves() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::new(&folder.path().join("d"), Some(folder.path()));
    let watch = Arc::new(Watch::default());
    let disk: Arc<dyn Disk> = Arc::new(WatchedDisk(Arc::clone(&watch)));
    let mut config = crate::testing::config(&place);
    config.open_engine =
        Arc::new(move |path, options| Engine::open(Arc::clone(&disk), path, options));
    let service = MemoryService::start(config, None).await.unwrap();
    let surface = Surface::new(service, Arc::new(SystemClock));
    *watch.server.lock().unwrap() = Some(thread::current().id());

    let ada: UserId = "ada".parse().unwrap();
    let records = ["one", "two"].map(|name| {
        json!({ "external_id": name, "text": format!("the {name} of them"),
            "session_id": "s", "tags": ["project:shop"] })
    });
    let kept = Kept::default();
    surface.observe(&ada, records.into(), &kept).await.unwrap();
    let record = surface.record(&ada, "one").await.unwrap();
    surface.record(&ada, &record.id.to_string()).await.unwrap();
    assert!(surface.link(&ada, "one", "two", None).await.unwrap());
    let related = surface.related(&ada, "one", None, None).await.unwrap();
    assert_eq!(related.len(), 1);
    assert_eq!(surface.links(&ada, record.id).await.unwrap().len(), 1);
    assert_eq!(surface.tags(&ada).await.unwrap().len(), 1);
    assert_eq!(surface.episodes(&ada, 9).await.unwrap().len(), 1);
    assert_eq!(surface.episode(&ada, "s").await.unwrap().len(), 2);
    let recent = surface.resource(&ada, "memory://recent").await.unwrap();
    assert!(recent.contains("the two of them"), "{recent}");
    let report = HookReport {
        session: "later".to_owned(),
        project: "shop".to_owned(),
        ..HookReport::default()
    };
    let hook = surface.hook(&ada, HookEvent::SessionStart, report).await;
    assert!(hook.unwrap().context.contains("the one of them"));
    assert_eq!(watch.asked.load(Ordering::SeqCst), 0);
    surface.shut_down().await;
}
