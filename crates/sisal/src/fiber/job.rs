//! A job: the half of a fork that its owner, a fiber, has put aside for later. The scheduler lets others see it when they are hungry.
//!
//! The open jobs of a fiber form a list in its own frames, the newest first.
#![allow(unsafe_code, reason = "jobs lie in the frames of their owners")]

use super::ambient::Scope;
use super::cancel_node::CancelNode;
use super::claim_cell::ClaimCell;
use super::header::FiberRef;
use super::spans::Origin;
use super::who::Who;
use crate::prim::cancel::Cause;
use crate::prim::clock::Moment;
use crate::prim::reason::Place;
use std::cell::UnsafeCell;
use std::iter;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

/// A job, the part of it that the scheduler knows.
pub(crate) struct Job {
    /// Runs it in the fiber that has taken it, to the end, whatever happens.
    run: unsafe fn(NonNull<Job>),
    pub(crate) place: Place,
    older: Option<NonNull<Job>>,
    /// What its owner was inside when it put the job aside.
    pub(crate) scope: Option<NonNull<Scope>>,
    /// Where it was put aside.
    pub(crate) origin: Origin,
    /// There once it is exposed. Dropped by [`conceal`](Self::conceal): a fork that nobody has seen has nothing to drop, and does not look.
    exposed: UnsafeCell<ManuallyDrop<Option<Arc<Exposed>>>>,
}

/// What others see of a job. Counted, since they may look at it late.
pub(crate) struct Exposed {
    pub(crate) cell: ClaimCell<Who>,
    pub(crate) since: Moment,
    /// Cancelled with its owner, if that is inside of nothing that could be.
    node: CancelNode,
}

impl Job {
    /// Runs a job in the fiber that has taken it.
    ///
    /// # Safety
    /// The caller has taken it.
    pub(crate) unsafe fn run(job: NonNull<Job>) {
        // SAFETY: the owner of a job that was taken stays in its frame until it is told of the end.
        let run = unsafe { job.as_ref().run };
        // SAFETY: the caller's promise.
        unsafe { run(job) };
    }

    /// A job of `owner`, the running fiber, which it can [put aside](FiberRef::put_aside).
    #[inline]
    pub(crate) fn new(owner: FiberRef, place: Place, run: unsafe fn(NonNull<Job>)) -> Job {
        Job {
            run,
            place,
            older: owner.jobs.get(),
            scope: owner.scope.get(),
            origin: Origin::here(),
            exposed: UnsafeCell::new(ManuallyDrop::new(None)),
        }
    }

    /// Lets go of what others see of the job. By its owner.
    ///
    /// # Safety
    /// Nobody will touch the job by that, and nobody holds a reference to it.
    pub(crate) unsafe fn conceal(&self) {
        // SAFETY: the caller's promise.
        drop(unsafe { &mut *self.exposed.get() }.take());
    }

    /// From now on others can see the job. By its owner, who could see it alone.
    pub(crate) fn expose(&self, now: Moment) -> &Arc<Exposed> {
        debug_assert!(self.exposed().is_none(), "INVARIANT: exposed once");
        let exposed = Arc::new(Exposed { cell: ClaimCell::new(), since: now, node: CancelNode::new(None) });
        // SAFETY: the owner alone knows of the job, and has no reference to what was none.
        unsafe { &mut *self.exposed.get() }.insert(exposed)
    }

    /// What others see of the job, if they can.
    #[inline]
    pub(crate) fn exposed(&self) -> Option<&Arc<Exposed>> {
        // SAFETY: changed by the owner only, before others can see the job and when they are done.
        unsafe { &*self.exposed.get() }.as_ref()
    }

    /// What is cancelled with the owner of an exposed job.
    pub(crate) fn node(&self) -> Option<&CancelNode> {
        self.exposed().map(|exposed| &exposed.node)
    }
}

impl FiberRef {
    /// Puts a job of this fiber, which runs, where others may find it when they are hungry.
    ///
    /// # Safety
    /// The job was made for this fiber, which has put no other aside since, and stays where it is until it is
    /// [taken back](Self::take_back) and, if it was exposed, run by whoever took it.
    #[inline]
    pub(crate) unsafe fn put_aside(self, job: NonNull<Job>) {
        self.jobs.set(Some(job));
    }

    /// Takes the job off that was put aside last.
    #[inline]
    pub(crate) fn take_back(self, job: NonNull<Job>) {
        debug_assert_eq!(self.jobs.get(), Some(job), "INVARIANT: jobs are taken back in order");
        // SAFETY: put aside by the caller, and still there.
        self.jobs.set(unsafe { job.as_ref() }.older);
    }

    /// The jobs of this fiber that nobody else can see, the newest first. Those that others can see are all older.
    pub(crate) fn hidden(self) -> impl Iterator<Item = NonNull<Job>> {
        // SAFETY: jobs in the list stay until they are taken off.
        let is_hidden = |job: &NonNull<Job>| unsafe { job.as_ref() }.exposed().is_none();
        // SAFETY: as above.
        iter::successors(self.jobs.get(), |job| unsafe { job.as_ref() }.older).take_while(is_hidden)
    }

    /// The end of this fiber has been asked for: what others run for it ends too. For its worker.
    pub(crate) fn cancel_exposed(self, poke: &dyn Fn(&Who)) {
        let mut next = self.jobs.get();
        while let Some(job) = next {
            // SAFETY: jobs in the list stay until they are taken off.
            let job = unsafe { job.as_ref() };
            if let Some(node) = job.node() {
                node.cancel(Cause::Request, poke);
            }
            next = job.older;
        }
    }
}
