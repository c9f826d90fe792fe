//! Fresh records of positions, made many at a time: an upload for each would take the host longer than the launch that
//! it is for.

use cubecl::client::Client;
use cubecl::server::Handle;
use std::cell::RefCell;

/// What a record of a position holds while every index has been in range.
pub(super) const NONE: u32 = u32::MAX;

/// Records of one upload.
const RECORDS: u64 = 64;

/// Memory with records of which the first `used` were given away.
struct Page {
    memory: Handle,
    /// Bytes from one record to the next: what the device can bind a buffer at.
    step: u64,
    used: u64,
}

thread_local! {
    /// The page of each device that this thread has asked for records on. A thread launches on a stream of its own, on
    /// which its uploads are done before its kernels.
    static PAGES: RefCell<Vec<Page>> = const { RefCell::new(vec![]) };
}

/// A record that nobody has had before, with [`NONE`] in it.
pub(super) fn fresh(client: &Client) -> Handle {
    PAGES.with_borrow_mut(|pages| {
        let service = client.service_id();
        let at = pages.iter().position(|page| page.memory.service == service);
        let page = match at {
            Some(at) => &mut pages[at],
            None => {
                pages.push(Page::new(client));
                pages.last_mut().expect("one was pushed")
            }
        };
        if page.used == RECORDS {
            *page = Page::new(client);
        }
        page.next()
    })
}

impl Page {
    fn new(client: &Client) -> Self {
        let step = client.properties().memory.alignment.max(4);
        let records = vec![NONE.to_ne_bytes(); (RECORDS * step / 4) as usize];
        Self {
            memory: client.create_from_slice(records.as_flattened()),
            step,
            used: 0,
        }
    }

    fn next(&mut self) -> Handle {
        let start = self.used * self.step;
        self.used += 1;
        let record = self.memory.clone().offset_start(start);
        let rest = record.size_in_used() - size_of_val(&NONE) as u64;
        record.offset_end(rest)
    }
}
