//! The program on a terminal: it asks, it paints, it shows how far it has come. Beside each of these the same through a
//! pipe, where it does nothing of the kind.

use rexpect::process::WaitStatus;
use rexpect::session::{PtySession, spawn_command};

use crate::support::{Place, command, sqlite};

/// A build machine may stand still for a while.
const PATIENCE_MS: u64 = 60_000;

/// What begins every colour.
const ESCAPE: &str = "\u{1b}[";

const STUCK: &str = "order:consume:stuck";

fn filled() -> Place {
    let place = sqlite().expect("a file needs no server");
    place.fill();
    place
}

/// Runs the program on a terminal of its own.
fn on_a_terminal(place: &Place, arguments: &[&str], environment: &[(&str, &str)]) -> PtySession {
    let mut command = command(arguments);
    command.env("IDEMPOTENT_URL", &place.url).env("TERM", "xterm-256color").envs(environment.iter().copied());
    spawn_command(command, Some(PATIENCE_MS)).expect("it starts on a terminal")
}

/// All that it still says, and its exit code.
fn to_its_end(mut session: PtySession) -> (String, i32) {
    let said = session.exp_eof().expect("it ends");
    match session.process().wait().expect("it has ended") {
        WaitStatus::Exited(_, code) => (said, code),
        other => panic!("{other:?} after {said:?}"),
    }
}

#[test]
fn what_destroys_says_what_it_will_do_and_asks() {
    let place = filled();
    let changes: [(&[&str], &str); 5] = [
        (&["purge", "--prefix", "order"], "This will remove 4 records under `order:`. Go on? [y/N] "),
        (
            &["purge", "--key", STUCK],
            "This will remove `order:consume:stuck`, which is abandoned (attempt 1). Go on? [y/N] ",
        ),
        (&["release", STUCK], "Go on? [y/N] "),
        (&["allow-one-more", STUCK], "Go on? [y/N] "),
        (&["resolve", STUCK, "--result", "1", "--ttl", "1h"], "its duplicates get 1 for 1h. Go on? [y/N] "),
    ];
    for (arguments, question) in changes {
        let arguments = [arguments, &["--why", "asked to"]].concat();
        // An answer that is no yes, and none at all (Ctrl-D, as the terminal hands it on).
        for answer in ["n\n", "\n", "yes, please\n", "\u{4}"] {
            let mut session = on_a_terminal(&place, &arguments, &[]);
            session.exp_string(question).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
            session.send(answer).and_then(|_| session.flush()).expect("it listens");
            let (said, code) = to_its_end(session);
            assert!(said.contains("nothing was changed") && code == 4, "{arguments:?}: {code} after {said:?}");
        }
        // Through a pipe nobody sees the question.
        let refused = place.run(&arguments);
        assert!(refused.ends_with(4).err.contains("say --yes"), "{refused:?}");
    }
    assert_eq!(place.state(STUCK).as_deref(), Ok("abandoned"));
    assert_eq!(place.run(["list", "--json"]).lines().len(), 6);

    let mut session = on_a_terminal(&place, &["purge", "--prefix", "order", "--why", "asked to"], &[]);
    session.exp_string("Go on? [y/N] ").expect("a question");
    session.send_line("y").expect("it listens");
    let (said, code) = to_its_end(session);
    assert!(said.contains("4 records were removed") && code == 0, "{code} after {said:?}");
    assert_eq!(place.state(STUCK), Err(3));
}

#[test]
fn with_yes_nobody_is_asked_on_a_terminal_either() {
    let place = filled();
    let (said, code) = to_its_end(on_a_terminal(&place, &["release", STUCK, "--why", "w", "--yes"], &[]));
    assert!(!said.contains("Go on?") && code == 0, "{code} after {said:?}");
    assert_eq!(place.state(STUCK).as_deref(), Ok("failed"));
}

#[test]
fn a_question_that_nobody_can_see_or_answer_is_not_asked() {
    let place = filled();
    let arguments = ["release", STUCK, "--why", "w"];
    // The answer comes from a pipe; on the terminal it would be a yes.
    let refused = place.run_and_say(&arguments, "y\n");
    assert!(refused.ends_with(4).err.contains("nobody can be asked here: say --yes"), "{refused:?}");
    assert_eq!(place.state(STUCK).as_deref(), Ok("abandoned"));
    let mut session = on_a_terminal(&place, &arguments, &[]);
    session.exp_string("Go on? [y/N] ").expect("a question");
    session.send_line("y").expect("it listens");
    assert_eq!(to_its_end(session).1, 0);
    assert_eq!(place.state(STUCK).as_deref(), Ok("failed"));
}

#[test]
fn colours_are_for_terminals_of_people_who_want_them() {
    let place = filled();
    let red = "\u{1b}[31mabandoned\u{1b}[0m";
    for arguments in [&["list"][..], &["inspect", STUCK], &["stats"]] {
        let (said, _) = to_its_end(on_a_terminal(&place, arguments, &[]));
        assert!(said.contains(ESCAPE), "{arguments:?}: {said:?}");
        let piped = place.run(arguments);
        assert!(!piped.ends_with(0).out.contains('\u{1b}') && !piped.err.contains('\u{1b}'), "{piped:?}");
    }
    assert!(to_its_end(on_a_terminal(&place, &["list"], &[])).0.contains(red));
    for (value, painted) in [("1", false), ("", true)] {
        let (said, _) = to_its_end(on_a_terminal(&place, &["list"], &[("NO_COLOR", value)]));
        assert_eq!(said.contains("\u{1b}[31m"), painted, "NO_COLOR={value:?}: {said:?}");
    }
    let (json, _) = to_its_end(on_a_terminal(&place, &["inspect", STUCK, "--json"], &[]));
    assert!(json.contains(r#""state":"abandoned""#) && !json.contains("\u{1b}[3"), "{json:?}");
}

#[test]
fn a_long_scan_shows_how_far_it_has_come() {
    let place = filled();
    for (arguments, shown) in [
        (&["stats"][..], "counting: "),
        (&["list"], "looking: "),
        (&["purge", "--prefix", "order", "--dry-run"], "counting: "),
    ] {
        let mut session = on_a_terminal(&place, arguments, &[]);
        session.exp_string(shown).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
        session.exp_string(" records, ").expect("so many");
        assert_eq!(to_its_end(session).1, 0);
        let piped = place.run(arguments);
        assert!(!piped.err.contains(shown) && !piped.out.contains(shown), "{piped:?}");
    }
}

#[test]
fn a_screen_is_cleared_only_where_there_is_one() {
    let place = filled();
    let watch = ["watch", "--times", "2", "--every", "10ms"];
    let (said, code) = to_its_end(on_a_terminal(&place, &watch, &[]));
    assert!(said.matches("\u{1b}[2J").count() == 2 && code == 0, "{said:?}");
    assert!(!place.run(watch).ends_with(0).out.contains('\u{1b}'));
}
