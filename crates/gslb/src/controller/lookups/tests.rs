use super::*;

#[test]
fn a_name_is_due_once_and_when_it_was_said_last() {
    let now = Instant::now();
    let later = now + Duration::from_secs(60);
    let mut names = Names::default();
    names.set_due("a".into(), later);
    names.set_due("b".into(), later);
    assert_eq!(names.next(now), Err(Some(later)));
    names.set_due("a".into(), now);
    assert_eq!(names.next(now), Ok("a".into()));
    assert_eq!(names.next(now), Err(Some(later)));
    names.forget_due("b");
    names.forget_due("b");
    assert_eq!(names.next(later), Err(None));
}
