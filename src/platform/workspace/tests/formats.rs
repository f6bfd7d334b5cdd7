//! Records of former versions.

use super::*;

#[test]
fn a_workspace_of_the_first_version_is_read() {
    let old = ("team", "", None::<String>, Plans::DEFAULT, Subject::User("usr_1".to_owned()));
    let old = postcard::to_allocvec(&old).unwrap();
    let read = <Workspace as Record>::upgrade(1, &old).unwrap();
    assert_eq!(read, Workspace { created_by: Subject::User("usr_1".to_owned()), ..Workspace::named("team") });
    assert_eq!(<Workspace as Record>::upgrade(0, &old), None);
}
