//! W2 on desru: an event is a boxed closure that knows the model.

use std::cell::RefCell;
use std::rc::Rc;

use desru::Event as Scheduled;
use desru::EventScheduler;
use stormlab_peers::Event;
use stormlab_peers::HORIZON;
use stormlab_peers::Model;
use stormlab_peers::report;

fn main() {
    report("desru", |seed| {
        let model = Rc::new(RefCell::new(Model::new(seed)));
        let mut scheduler = EventScheduler::new();
        let first = Rc::clone(&model);
        model.borrow_mut().begin(|delay, event| {
            scheduler.schedule(closure(Rc::clone(&first), delay, event));
        });
        let over = |scheduler: &EventScheduler| scheduler.current_time >= HORIZON;
        scheduler.run(Box::new(over), Some(Box::new(|_, _| false)));
        model.borrow().counts()
    });
}

fn closure(model: Rc<RefCell<Model>>, at: f64, event: Event) -> Scheduled {
    let happens = move |scheduler: &mut EventScheduler| {
        let now = scheduler.current_time;
        model.borrow_mut().happen(now, event, |delay, event| {
            scheduler.schedule(closure(Rc::clone(&model), now + delay, event));
        });
        None
    };
    Scheduled::new(at, Some(Box::new(happens)), None)
}
