use crate::{Folder, everywhere};
use sisal::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

#[test]
fn whole_files_are_written_read_and_copied() {
    everywhere(|| {
        let folder = Folder::new();
        let (a, b) = (folder.join("a"), folder.join("b"));
        fs::write(&a, "first").unwrap();
        fs::write(&a, b"second, and longer").unwrap();
        assert_eq!(fs::read(&a).unwrap(), b"second, and longer");
        fs::set_permissions(&a, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(fs::copy(&a, &b).unwrap(), 18);
        assert_eq!(fs::read_to_string(&b).unwrap(), "second, and longer");
        assert_eq!(fs::metadata(&b).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read(folder.join("c")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs::read(folder.join("")).unwrap_err().kind(), ErrorKind::IsADirectory);
        assert_eq!(fs::copy(folder.join("c"), &b).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(fs::write(folder.join("c/d"), "").unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn names_are_changed_linked_and_removed() {
    everywhere(|| {
        let folder = Folder::new();
        let (a, b, c) = (folder.join("a"), folder.join("b"), folder.join("c"));
        fs::write(&a, "text").unwrap();
        fs::rename(&a, &b).unwrap();
        assert!(!fs::exists(&a).unwrap() && fs::exists(&b).unwrap());
        fs::hard_link(&b, &a).unwrap();
        assert_eq!(fs::metadata(&a).unwrap().nlink(), 2);
        fs::symlink("b", &c).unwrap();
        assert_eq!(fs::read_link(&c).unwrap().as_os_str(), "b");
        assert!(fs::symlink_metadata(&c).unwrap().is_symlink());
        assert!(fs::metadata(&c).unwrap().is_file());
        assert_eq!(fs::canonicalize(&c).unwrap(), std::fs::canonicalize(&b).unwrap());
        fs::remove_file(&b).unwrap();
        assert!(!fs::exists(&c).unwrap(), "it leads nowhere");
        #[expect(deprecated, reason = "std has it too")]
        let again = fs::soft_link("b", &c);
        assert_eq!(again.unwrap_err().kind(), ErrorKind::AlreadyExists);
        for error in [
            fs::remove_file(&b).unwrap_err(),
            fs::metadata(&b).unwrap_err(),
            fs::canonicalize(&b).unwrap_err(),
            fs::rename(&b, &a).unwrap_err(),
            fs::hard_link(&b, folder.join("d")).unwrap_err(),
            fs::read_link(&b).unwrap_err(),
            fs::set_permissions(&b, fs::Permissions::from_mode(0o600)).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::NotFound);
        }
    });
}
