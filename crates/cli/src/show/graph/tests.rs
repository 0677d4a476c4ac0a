use super::*;

/// Nodes as `name: before before`.
fn nodes(text: &str) -> Vec<Node> {
    let node = |line: &str| {
        let (name, after) = line.trim().split_once(':').unwrap();
        let (name, detail) = name.split_once('/').unwrap_or((name, ""));
        let after = after.split_whitespace().map(str::to_owned).collect();
        Node { name: name.to_owned(), detail: detail.to_owned(), after }
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(node).collect()
}

fn drawn(text: &str) -> String {
    draw(&nodes(text), 80).unwrap()
}

fn check(text: &str, drawing: &str) {
    assert_eq!(format!("\n{}", drawn(text)), drawing);
}

#[test]
fn a_chain_is_a_straight_line() {
    check(
        "reserve/inventory:\ncharge/payments: reserve\nship: charge",
        "
┌───────────┐
│  reserve  │
│ inventory │
└─────┬─────┘
      │
┌─────▼────┐
│  charge  │
│ payments │
└─────┬────┘
      │
  ┌───▼──┐
  │ ship │
  └──────┘",
    );
}

#[test]
fn branches_join_again() {
    check(
        "a:\nb: a\nc: a\nd: a\njoin: b c d",
        "
       ┌───┐
       │ a │
       └─┬─┘
  ┌──────┼──────┐
┌─▼─┐  ┌─▼─┐  ┌─▼─┐
│ b │  │ c │  │ d │
└─┬─┘  └─┬─┘  └─┬─┘
  └───┐  │  ┌───┘
     ┌▼──▼──▼┐
     │ join  │
     └───────┘",
    );
}

#[test]
fn a_line_goes_past_the_layers_between() {
    check(
        "a:\nb: a\nc: b\nd: a c",
        "
  ┌───┐
  │ a │
  └─┬─┘
  ┌─┴──┐
┌─▼─┐  │
│ b │  │
└─┬─┘  │
  │    │
┌─▼─┐  │
│ c │  │
└─┬─┘  │
  │   ┌┘
 ┌▼───▼┐
 │  d  │
 └─────┘",
    );
}

#[test]
fn lines_cross_and_do_not_join() {
    check(
        "a:\nb:\nx: a b\ny: a b",
        "
  ┌───┐  ┌───┐
  │ a │  │ b │
  └─┬─┘  └─┬─┘
    ├─────┐│
    │┌────│┤
┌───▼▼┐  ┌▼▼───┐
│  x  │  │  y  │
└─────┘  └─────┘",
    );
}

#[test]
fn two_parts_that_have_nothing_to_do_with_each_other_stand_side_by_side() {
    check(
        "a:\nb:\nc: b",
        "
┌───┐  ┌───┐
│ a │  │ b │
└───┘  └─┬─┘
         │
       ┌─▼─┐
       │ c │
       └───┘",
    );
}

#[test]
fn what_is_too_wide_for_one_layer_goes_into_several() {
    let mut text = "start:\n".to_owned();
    for number in 0..12 {
        text.push_str(&format!("parallel-step-{number}: start\n"));
    }
    let drawing = drawn(&text);
    assert!(drawing.lines().all(|line| line.chars().count() <= 80), "{drawing}");
    for number in 0..12 {
        assert!(drawing.contains(&format!(" parallel-step-{number} ")), "{drawing}");
    }
    assert_eq!(drawing.matches('▼').count(), 12);
}

#[test]
fn what_cannot_be_drawn_is_not_drawn() {
    assert_eq!(draw(&[], 80), None);
    assert_eq!(draw(&nodes("a: b\nb: a"), 80), None, "a circle");
    let many: Vec<_> = (0..201).map(|at| Node { name: format!("n{at}"), ..Node::default() }).collect();
    assert_eq!(draw(&many, 80), None, "too many");
    let mut wide = "start:\n".to_owned();
    for number in 0..90 {
        wide.push_str(&format!("s{number}: start\n"));
    }
    let all: Vec<_> = (0..90).map(|number| format!("s{number}")).collect();
    wide.push_str(&format!("join: {}\n", all.join(" ")));
    assert_eq!(draw(&nodes(&wide), 80), None, "too wide");
}

#[test]
fn long_names_are_shortened() {
    let drawing = drawn(&format!("{}:", "x".repeat(60)));
    assert!(drawing.contains(&format!(" {}… ", "x".repeat(29))), "{drawing}");
}

/// Each line ends at a box once for each thing that comes before it, whatever the graph looks like.
#[test]
fn every_line_has_its_end_and_fits() {
    let mut state = 7_u32;
    let mut random = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize % below
    };
    let mut drawings = 0;
    for _ in 0..300 {
        let count = 2 + random(9);
        let mut all = Vec::new();
        for at in 0..count {
            let mut after: Vec<_> =
                (0..at).filter(|_| random(10) < 4).map(|before: usize| format!("n{before}")).collect();
            after.truncate(3);
            all.push(Node { name: format!("n{at}"), detail: String::new(), after });
        }
        let Some(drawing) = draw(&all, 80) else { continue };
        drawings += 1;
        let ends: usize = all.iter().map(|node| node.after.len()).sum();
        assert_eq!(drawing.matches('▼').count(), ends, "{all:?}\n{drawing}");
        assert!(drawing.lines().all(|line| line.chars().count() <= 80), "{drawing}");
    }
    assert!(drawings > 250, "{drawings}");
}
