//! An invitation goes to everybody on a list, five at a time. Two addresses are wrong: for a party that is tolerated, and the
//! rest are told where it is; for a board meeting nobody may be missing, and those who were invited are told that it is off.
//! Run it: `cargo run -p steadfast --example fan_out`.

use serde::{Deserialize, Serialize};
use steadfast::{Engine, Failure, Outcome, Service, Workflow};

#[derive(Serialize, Deserialize)]
struct Meeting {
    name: String,
    people: Vec<String>,
}

/// Invites everybody, and counts who is coming.
fn invite(name: &'static str, may_be_missing: u16) -> Result<Workflow<Meeting, usize>, steadfast::Error> {
    let (mail, desk) = (Service::standard("mail"), Service::standard("desk"));
    let mut flow = Workflow::<Meeting>::builder(name);
    let invited = flow
        .each(
            "invite",
            &mail,
            |seen| seen.input.people.clone(),
            |_, to: String| async move {
                match to.contains('@') {
                    true => Ok(to),
                    false => Err(Failure::terminal("bad-address", format!("`{to}` is no address"))),
                }
            },
        )
        .at_a_time(5)
        .tolerate(may_be_missing)
        .undo(|cx| async move {
            println!("  {} is told that {} is off", cx.item::<String>()?, cx.input.name);
            Ok::<_, Failure>(())
        })
        .add();
    let count = flow
        .step("count", &desk, move |cx| async move {
            // In the order of the list; those that failed are `None`.
            Ok::<_, Failure>(cx.results(invited)?.into_iter().flatten().count())
        })
        .after(invited)
        .nothing_to_undo()
        .add();
    flow.returns(count)
}

async fn run() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let (party, board) = (invite("party", 3)?, invite("board", 0)?);
    let engine = Engine::builder("memory:").workflow(&party).workflow(&board).start().await?;
    let address = |n: u32| if n % 20 == 7 { format!("nobody-{n}") } else { format!("guest-{n}@example.com") };
    let people: Vec<_> = (0..40).map(address).collect();
    let mut ends = Vec::new();
    for flow in [&party, &board] {
        let meeting = Meeting { name: format!("the {}", flow.name()), people: people.clone() };
        let end = match engine.submit(flow, &meeting).await?.outcome().await? {
            Outcome::Completed(coming) => format!("{}: {coming} of 40 are invited", meeting.name),
            Outcome::Undone(why) => format!("{} is off: {why}", meeting.name),
            Outcome::Failed(why) => format!("{}: somebody has to look: {why}", meeting.name),
        };
        println!("{end}");
        ends.push(end);
    }
    engine.shut_down().await?;
    Ok(ends)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    run().await.map(drop)
}

#[cfg(test)]
mod tests {
    #[tokio::test]
    async fn the_example_runs() {
        let ends = super::run().await.unwrap();
        assert_eq!(ends[0], "the party: 38 of 40 are invited");
        assert_eq!(
            ends[1],
            "the board is off: step `invite` failed: item 7: bad-address: `nobody-7` is no address"
        );
    }
}
