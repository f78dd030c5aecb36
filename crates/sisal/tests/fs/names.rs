use crate::{Folder, everywhere};
use sisal::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, DirEntryExt, MetadataExt, OpenOptionsExt, PermissionsExt};

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

#[test]
fn files_and_links_are_given_away() {
    everywhere(|| {
        let folder = Folder::new();
        let (file, link) = (folder.join("file"), folder.join("link"));
        fs::write(&file, "text").unwrap();
        let own = fs::metadata(&file).unwrap();
        let (uid, gid) = (Some(own.uid()), Some(own.gid()));
        fs::chown(&file, uid, gid).unwrap();
        fs::fchown(fs::File::open(&file).unwrap(), uid, None).unwrap();
        fs::symlink("nowhere", &link).unwrap();
        fs::lchown(&link, uid, gid).unwrap();
        assert_eq!(fs::chown(&link, uid, gid).unwrap_err().kind(), ErrorKind::NotFound);
        // Only for those who may, each call does what it is called.
        if own.uid() == 0 {
            fs::chown(&file, Some(1), None).unwrap();
            fs::fchown(fs::File::open(&file).unwrap(), None, Some(2)).unwrap();
            fs::lchown(&link, Some(3), Some(4)).unwrap();
            let (file, link) = (fs::metadata(&file).unwrap(), fs::symlink_metadata(&link).unwrap());
            assert_eq!((file.uid(), file.gid(), link.uid(), link.gid()), (1, 2, 3, 4));
        }
    });
}

#[test]
fn the_traits_of_std_say_what_the_methods_do() {
    fn mode(options: &mut impl OpenOptionsExt) {
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    }
    fn private(builder: &mut impl DirBuilderExt) {
        builder.mode(0o700);
    }
    fn number(entry: &impl DirEntryExt) -> u64 {
        entry.ino()
    }
    everywhere(|| {
        let folder = Folder::new();
        let (file, link, below) = (folder.join("file"), folder.join("link"), folder.join("below"));
        let mut options = fs::OpenOptions::new();
        mode(options.write(true).create(true));
        options.open(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        fs::symlink("file", &link).unwrap();
        assert!(options.open(&link).is_err(), "a link is not followed");
        let mut builder = fs::DirBuilder::new();
        private(&mut builder);
        builder.create(&below).unwrap();
        assert_eq!(fs::metadata(&below).unwrap().mode() & 0o777, 0o700);
        for entry in fs::read_dir(folder.join("")).unwrap() {
            let entry = entry.unwrap();
            assert_eq!(number(&entry), fs::symlink_metadata(entry.path()).unwrap().ino());
        }
    });
}
