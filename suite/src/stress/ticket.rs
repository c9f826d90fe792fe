//! [`TicketCounter`]: every ticket has one owner.

use super::setting::{Fault, Setting};
use cubecl::prelude::*;
use girih::memory::blocks::TicketCounter;
use girih::prelude::*;
use girih_testkit::check;

/// Each unit takes a ticket and then three at once, `rounds` times, and counts itself in at each of them.
#[cube(launch_unchecked)]
fn draw(counter: &[Atomic<u32>], owners: &[Atomic<u32>], rounds: u32) {
    let tickets = TicketCounter::<Device>::new(&counter[0]);
    for _ in 0..rounds {
        let ticket = tickets.take();
        owners[ticket as usize]
            .at::<Device>()
            .fetch_add::<Relaxed>(1u32);
        let first = tickets.take_many(3u32);
        for more in 0..3u32 {
            owners[(first + more) as usize]
                .at::<Device>()
                .fetch_add::<Relaxed>(1u32);
        }
    }
}

/// Every unit draws. Gives the number of tickets.
pub fn round(setting: &mut Setting<'_>) -> Result<u64, Fault> {
    setting.launches += 1;
    let rt = setting.rt;
    let (cubes, units, rounds) = (setting.cubes(), setting.units(), setting.between(1, 16));
    let tickets = 4 * cubes * units * rounds;
    let (counter, owners) = (setting.zeros(1), setting.zeros(tickets as usize));
    // SAFETY: there is an element for each ticket that is taken.
    unsafe {
        draw::launch_unchecked(
            &rt.client,
            CubeCount::new_1d(cubes),
            CubeDim::new_1d(units),
            counter.arg(),
            owners.arg(),
            rounds,
        );
    }
    check::same(&rt.read(&owners)?, &vec![1; tickets as usize])?;
    check::same(&rt.read(&counter)?, &[tickets])?;
    Ok(tickets.into())
}
