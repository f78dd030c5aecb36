use crate::{Folder, everywhere};
use sisal::fs;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;

#[test]
fn directories_are_made_and_removed() {
    everywhere(|| {
        let folder = Folder::new();
        let (a, deep) = (folder.join("a"), folder.join("a/b/c"));
        assert_eq!(fs::create_dir(&deep).unwrap_err().kind(), ErrorKind::NotFound);
        fs::create_dir(&a).unwrap();
        assert_eq!(fs::create_dir(&a).unwrap_err().kind(), ErrorKind::AlreadyExists);
        fs::create_dir_all(&deep).unwrap();
        fs::create_dir_all(&deep).unwrap();
        assert_eq!(fs::remove_dir(&a).unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
        fs::remove_dir(&deep).unwrap();
        fs::remove_dir_all(&a).unwrap();
        assert!(!fs::exists(&a).unwrap());
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&deep).unwrap();
        assert_eq!(fs::metadata(&deep).unwrap().mode() & 0o777, 0o700);
        assert!(fs::DirBuilder::new().create(&deep).is_err());
    });
}

/// More than fit into a batch, and as many as fit exactly.
#[test]
fn all_entries_of_a_directory_are_found_once() {
    everywhere(|| {
        for count in [0, 1, 127, 128, 129, 300] {
            let folder = Folder::new();
            for number in 0..count {
                std::fs::write(folder.join(number.to_string()), "").unwrap();
            }
            let mut found = BTreeMap::new();
            let mut entries = fs::read_dir(folder.join("")).unwrap();
            for entry in entries.by_ref() {
                let entry = entry.unwrap();
                assert!(entry.file_type().unwrap().is_file());
                assert_eq!(entry.metadata().unwrap().ino(), entry.ino());
                assert_eq!(entry.path(), folder.join(entry.file_name()));
                assert!(found.insert(entry.file_name(), ()).is_none(), "{entry:?} twice");
            }
            assert_eq!(found.len(), count);
            assert!(entries.next().is_none());
        }
        assert_eq!(fs::read_dir("/no such directory").unwrap_err().kind(), ErrorKind::NotFound);
    });
}
