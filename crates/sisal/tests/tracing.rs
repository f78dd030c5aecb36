//! With the feature `tracing`: every fiber keeps its own spans, whoever else runs on its worker.

mod common;

use common::watchdog::guarded;
use common::{background, child, fixed, rounds, shut_down, with_workers};
use sisal::{blocking, join_all, nursery, par, sleep, spawn, spawn_local, yield_now};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Subscriber, debug_span, info, info_span};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// Keeps the span in which each event happened, and which spans have been closed.
#[derive(Default)]
struct Record {
    events: Mutex<Vec<(String, Option<&'static str>)>>,
    /// The fields of warnings.
    warnings: Mutex<Vec<HashMap<&'static str, String>>>,
    open: Mutex<HashMap<&'static str, i32>>,
}

static RECORD: OnceLock<Record> = OnceLock::new();

/// A process has one subscriber, and all its tests share it.
fn record() -> &'static Record {
    RECORD.get_or_init(|| {
        tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Recorder)).unwrap();
        Record::default()
    })
}

/// In which span something with this message happened, each time that it did.
fn spans_of(message: &str) -> Vec<Option<&'static str>> {
    let events = record().events.lock().unwrap();
    events.iter().filter(|(said, _)| said == message).map(|(_, span)| *span).collect()
}

/// How many spans of this name have not been closed.
fn open(name: &str) -> i32 {
    record().open.lock().unwrap().get(name).copied().unwrap_or(0)
}

fn note(name: &'static str, more: i32) {
    if let Some(record) = RECORD.get() {
        *record.open.lock().unwrap().entry(name).or_default() += more;
    }
}

struct Recorder;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        note(attributes.metadata().name(), 1);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        note(context.span(&id).unwrap().name(), -1);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let span = context.lookup_current().map(|span| span.name());
        let message = fields.0.get("message").cloned().unwrap_or_default();
        record().events.lock().unwrap().push((message, span));
        if *event.metadata().level() == Level::WARN {
            record().warnings.lock().unwrap().push(fields.0);
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        match context.span(id).unwrap().name() {
            "refuses to be left" => std::panic::panic_any(()),
            "waits when it is left" => sleep(Duration::from_micros(1)).unwrap(),
            _ => {}
        }
    }
}

#[derive(Default)]
struct Fields(HashMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

#[test]
fn fibers_of_one_worker_that_take_turns_keep_their_own_spans() {
    record();
    with_workers(|workers| {
        let runtime = background(workers);
        runtime.run(|| {
            let (ask, asked) = sisal::chan::bounded(0);
            let (answer, answered) = sisal::chan::bounded(0);
            let first = spawn_local(move || {
                let _span = info_span!("asking").entered();
                for _ in 0..rounds(100) {
                    ask.send(()).unwrap();
                    info!("asked");
                    yield_now();
                    let () = answered.recv().unwrap();
                    info!("asked");
                }
            });
            let second = spawn_local(move || {
                for () in &asked {
                    info!("was asked, in no span");
                    info_span!("answering").in_scope(|| {
                        yield_now();
                        info!("answers");
                        answer.send(()).unwrap();
                        info!("answers");
                    });
                }
            });
            join_all([first, second]).into_iter().for_each(Result::unwrap);
        });
        shut_down(runtime);
    });
    assert!(spans_of("asked").iter().all(|span| *span == Some("asking")));
    assert!(spans_of("answers").iter().all(|span| *span == Some("answering")));
    assert!(spans_of("was asked, in no span").iter().all(Option::is_none));
    assert_eq!(spans_of("asked").len(), 2 * 4 * rounds(100));
    assert_eq!((open("asking"), open("answering")), (0, 0));
}

#[test]
fn nested_spans_are_left_and_entered_again_in_their_order() {
    record();
    guarded(|| {
        fixed(1)
            .run(|| {
                let other = spawn(|| (0..20).for_each(|_| yield_now()));
                let outermost = info_span!("level 0");
                let guards = (outermost.enter(), info_span!("level 1").entered(), outermost.enter());
                let more: Vec<_> = (0..10).map(|_| debug_span!("level 2").entered()).collect();
                let innermost = info_span!("level 3").entered();
                yield_now();
                info!("at level 3");
                drop(innermost);
                yield_now();
                info!("at level 2");
                drop(more);
                yield_now();
                info!("at level 1");
                drop((guards.2, guards.1));
                yield_now();
                info!("at level 0");
                drop(guards.0);
                yield_now();
                info!("at no level");
                other.join().unwrap();
            })
            .unwrap();
    });
    for (message, span) in [
        ("at level 3", Some("level 3")),
        ("at level 2", Some("level 2")),
        ("at level 1", Some("level 1")),
        ("at level 0", Some("level 0")),
        ("at no level", None),
    ] {
        assert_eq!(spans_of(message), [span], "{message}");
    }
    assert_eq!([0, 1, 2, 3].map(|level| open(&format!("level {level}"))), [0; 4]);
}

#[test]
fn what_is_spawned_is_born_in_the_span_of_its_spawner() {
    record();
    with_workers(|workers| {
        let runtime = background(workers);
        runtime.run(|| {
            let _span = info_span!("parent").entered();
            let born = || {
                info!("born");
                yield_now();
                info!("born");
            };
            let grandchild = move || {
                spawn(born).join().unwrap();
                born();
            };
            join_all([spawn(grandchild), spawn_local(grandchild)]).into_iter().for_each(Result::unwrap);
            nursery(|nursery| {
                nursery.spawn(move || {
                    born();
                    Ok::<_, std::io::Error>(())
                });
                Ok(())
            })
            .unwrap();
            par::join(born, born);
            par::join(|| info!("born"), || info!("born"));
            par::scope(|scope| scope.spawn(move |_| born()));
            par::iter(0..100).for_each(|_| born());
            blocking(|| info!("born"));
            sisal::spawn_future(async { info!("born") }).join().unwrap();
            spawn(born).join().unwrap();
        });
        // On a thread.
        info_span!("parent").in_scope(|| runtime.spawn(|| info!("born")).join().unwrap());
        runtime.run(|| info!("born in no span"));
        shut_down(runtime);
    });
    let spans = spans_of("born");
    assert!(spans.iter().all(|span| *span == Some("parent")), "{spans:?}");
    assert_eq!(spans.len(), 4 * (2 * (2 * 2 + 1 + 2 + 1 + 1 + 100 + 1) + 3));
    assert_eq!(spans_of("born in no span"), [None; 4]);
    assert_eq!(open("parent"), 0);
}

#[test]
fn a_stolen_half_of_a_fork_runs_in_the_span_of_the_fork() {
    record();
    guarded(|| {
        let runtime = background(2);
        runtime.run(|| {
            let _span = info_span!("fork").entered();
            for _ in 0..rounds(1_000) {
                let (tell, told) = sisal::chan::bounded(0);
                // The first half waits for the second, which is run in a fiber of its own then.
                let first = move || {
                    let _deeper = info_span!("deeper").entered();
                    let () = told.recv().unwrap();
                };
                par::join(first, move || {
                    info!("half");
                    tell.send(()).unwrap();
                });
            }
        });
        shut_down(runtime);
    });
    assert!(spans_of("half").iter().all(|span| *span == Some("fork")));
    assert_eq!((open("fork"), open("deeper")), (0, 0));
}

#[test]
fn what_runs_elsewhere_ends_also_where_the_subscriber_panics() {
    record();
    guarded(|| {
        let runtime = background(2);
        runtime.run(|| {
            let refuses = info_span!("refuses to be left");
            // What waits for the other half comes second, so that this one is run elsewhere.
            let forked = catch_unwind(AssertUnwindSafe(|| {
                let _entered = refuses.enter();
                let (tell, told) = sisal::chan::bounded(0);
                par::join(move || told.recv().unwrap(), move || tell.send(()).unwrap());
            }));
            assert!(forked.is_err(), "the guard's own exit panics");
            let run = AtomicUsize::new(0);
            let scope = catch_unwind(AssertUnwindSafe(|| {
                let _entered = refuses.enter();
                par::scope(|s| (0..4).for_each(|_| s.spawn(|_| _ = run.fetch_add(1, Ordering::Relaxed))));
            }));
            assert!(scope.is_err());
            assert_eq!(run.into_inner(), 4);
        });
        shut_down(runtime);
    });
}

#[test]
fn neither_a_panic_nor_a_forgotten_guard_leaves_a_span_to_others() {
    record();
    guarded(|| {
        let runtime = background(1);
        runtime.run(|| {
            let panics = spawn(|| {
                let _span = info_span!("panics").entered();
                struct Last;
                impl Drop for Last {
                    fn drop(&mut self) {
                        yield_now();
                        info!("unwinding");
                    }
                }
                let _last = Last;
                yield_now();
                std::panic::panic_any(());
            });
            let neighbour = spawn(|| {
                for _ in 0..5 {
                    yield_now();
                    info!("beside a panic");
                }
            });
            assert!(panics.join().is_err());
            neighbour.join().unwrap();
            spawn(|| std::mem::forget(info_span!("forgotten").entered())).join().unwrap();
            spawn(|| info!("after a forgotten guard")).join().unwrap();
            info!("after a forgotten guard");
        });
        shut_down(runtime);
    });
    assert_eq!(spans_of("unwinding"), [Some("panics")]);
    assert_eq!(spans_of("beside a panic"), [None; 5]);
    assert_eq!(spans_of("after a forgotten guard"), [None; 2]);
    assert_eq!(open("panics"), 0);
}

#[test]
fn a_thread_keeps_the_spans_that_it_is_inside_of() {
    record();
    guarded(|| {
        let span = info_span!("of the thread").entered();
        let runtime = background(2);
        runtime.run(|| info!("on the thread"));
        let (send, receive) = sisal::chan::bounded(0);
        let sender = runtime.spawn(move || send.send(7).unwrap());
        assert_eq!(receive.recv(), Ok(7));
        sender.join().unwrap();
        info!("on the thread");
        fixed(1)
            .run(|| {
                info!("on the thread");
                yield_now();
                let child = spawn(|| (0..3).for_each(|_| yield_now()));
                sleep(Duration::from_micros(1)).unwrap();
                info!("on the thread");
                // Not joined: it is run to its end when this has returned.
                drop(tracing::Span::none().in_scope(|| spawn_local(|| info!("cancelled"))));
                child.join().unwrap();
            })
            .unwrap();
        info!("on the thread");
        shut_down(runtime);
        drop(span);
        info!("outside again");
    });
    assert_eq!(spans_of("on the thread"), [Some("of the thread"); 5]);
    assert_eq!(spans_of("outside again"), [None]);
    assert_eq!(open("of the thread"), 0);
}

#[test]
fn fibers_left_when_main_returns_are_not_in_the_spans_of_its_thread() {
    record();
    guarded(|| {
        let _span = info_span!("around the run").entered();
        let (send, receive) = sisal::chan::bounded::<()>(1);
        fixed(1)
            .run(move || {
                // Born in no span, on a thread that is in none.
                let runtime = sisal::Handle::current().unwrap();
                let spawn_outside = move || {
                    runtime.spawn(move || {
                        let ended = receive.recv();
                        info!("main has returned");
                        ended.is_err()
                    })
                };
                let waiting = std::thread::spawn(spawn_outside).join().unwrap();
                yield_now();
                drop(waiting);
                // Its wait ends by the stop, after this.
                std::mem::forget(send);
            })
            .unwrap();
        info!("around it");
    });
    assert_eq!(spans_of("around it"), [Some("around the run")]);
    assert!(spans_of("main has returned").iter().all(Option::is_none));
}

#[test]
fn a_subscriber_may_panic_and_wait() {
    record();
    guarded(|| {
        let runtime = background(1);
        runtime.run(|| {
            let others = spawn(|| (0..10).for_each(|_| yield_now()));
            let waits = spawn(|| {
                let _span = info_span!("waits when it is left").entered();
                yield_now();
                info!("it has waited");
            });
            let refuses = info_span!("refuses to be left");
            let left = catch_unwind(AssertUnwindSafe(|| {
                let _entered = refuses.enter();
                yield_now();
                yield_now();
            }));
            // The guard's own exit panics like those on the way.
            assert!(left.is_err());
            join_all([others, waits]).into_iter().for_each(Result::unwrap);
        });
        shut_down(runtime);
    });
    assert_eq!(spans_of("it has waited"), [Some("waits when it is left")]);
    assert_eq!(open("waits when it is left"), 0);
}

#[test]
fn a_span_whose_exit_panics_keeps_no_outer_span_from_being_left_and_closed() {
    record();
    guarded(|| {
        let runtime = background(1);
        runtime.run(|| {
            let neighbour = spawn(|| {
                for _ in 0..5 {
                    info!("beside a refusal");
                    yield_now();
                }
            });
            let outer = info_span!("around a refusal");
            let left = catch_unwind(AssertUnwindSafe(|| {
                let _outer = outer.enter();
                let _inner = info_span!("refuses to be left").entered();
                for _ in 0..5 {
                    yield_now();
                    info!("inside a refusal");
                }
            }));
            assert!(left.is_err());
            neighbour.join().unwrap();
            info!("after a refusal");
        });
        shut_down(runtime);
    });
    assert_eq!(spans_of("beside a refusal"), [None; 5]);
    assert_eq!(spans_of("inside a refusal"), [Some("refuses to be left"); 5]);
    assert_eq!(spans_of("after a refusal"), [None]);
    assert_eq!(open("around a refusal"), 0);
}

#[test]
fn a_fiber_that_blocks_its_worker_is_named_by_a_warning_and_not_on_standard_error() {
    let ended = child::run(|| {
        record();
        let runtime = fixed(1).blocked_after(Duration::from_millis(5)).build().unwrap();
        let warnings = || record().warnings.lock().unwrap();
        let blocker = runtime.handle().builder().name("blocker").spawn(move || {
            while warnings().is_empty() {
                std::thread::yield_now();
            }
        });
        blocker.join().unwrap();
        let warning = warnings().remove(0);
        assert_eq!(warning["message"], "a fiber blocks its worker");
        assert_eq!((&*warning["fiber.id"], &*warning["fiber.name"]), ("#1", "\"blocker\""));
        assert!(warning["fiber.spawned_at"].starts_with("crates/sisal/tests/tracing.rs:"), "{warning:?}");
        assert_eq!(warning["worker"], "0");
        assert!(warning["held_ms"].parse::<u64>().unwrap() >= 5);
        shut_down(runtime);
    });
    ended.well().not_saying("has held worker");
}

#[cfg(feature = "stack-traces")]
#[inline(never)]
fn hold_worker_until_warned() {
    while record().warnings.lock().unwrap().is_empty() {
        std::thread::yield_now();
    }
    std::hint::black_box(());
}

#[cfg(feature = "stack-traces")]
#[test]
fn the_warning_has_the_stack_of_the_fiber() {
    let ended = child::run(|| {
        record();
        let stack_of_warning = |_| {
            let runtime = fixed(1).blocked_after(Duration::from_millis(5)).build().unwrap();
            runtime.spawn(hold_worker_until_warned).join().unwrap();
            shut_down(runtime);
            record().warnings.lock().unwrap().remove(0).remove("stack")
        };
        // None can be had of a thread that is not given a processor in time.
        let stack = (0..100).find_map(stack_of_warning).unwrap();
        assert!(stack.contains("hold_worker_until_warned"), "{stack}");
    });
    ended.well();
}
