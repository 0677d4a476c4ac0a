//! The page as HTML. Whatever comes from outside goes through [`escaped`].

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{BURST, SHOWN};
use crate::error::Error;
use crate::mood::Mood;
use crate::order::{CARDS, GOODS, MAX_QUANTITY, Row, Status};
use crate::service::{Kind, Service};
use crate::shop::Link;
use crate::world::World;

/// What the list shows.
pub(super) struct Shown {
    rows: Vec<Row>,
    counts: BTreeMap<Status, u64>,
    moods: [(Kind, Mood); 3],
    now_ms: i64,
}

impl Shown {
    pub(super) async fn read(world: &World) -> Result<Self, Error> {
        let orders = world.orders();
        let (rows, counts, now_ms) = (orders.newest(SHOWN), orders.counts(), orders.now_ms());
        let moods = world.town().services().map(|service| (service.kind(), service.mood()));
        Ok(Self { rows: rows.await?, counts: counts.await?, moods, now_ms: now_ms.await? })
    }
}

/// A text in which nothing is markup, in elements and in quoted attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// The whole page.
pub(super) fn whole(world: &World, shown: &Shown) -> String {
    let services: String = world.town().services().map(service).concat();
    format!(
        "<!doctype html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<title>The steadfast shop</title>
<link rel=\"stylesheet\" href=\"/shop.css\">
<script src=\"/shop.js\" defer></script>
</head>
<body>
<header><h1>The steadfast shop</h1><p>Stock is reserved, the card charged, the parcel sent: all of it, or nothing.</p></header>
<main>
<section aria-labelledby=\"order\"><h2 id=\"order\">Place an order</h2>
{form}
<form method=\"post\" action=\"/burst\"><button>Place {BURST} orders at once</button></form>
</section>
<section aria-labelledby=\"services\"><h2 id=\"services\">Services</h2>
<table><thead><tr><th>service</th><th>make it</th></tr></thead><tbody>{services}</tbody></table>
{links}
</section>
<section aria-labelledby=\"orders\"><h2 id=\"orders\">Orders</h2>
<noscript><p><a href=\"/\">Reload</a> to see how far they have come.</p></noscript>
<div id=\"list\">{list}</div>
</section>
</main>
</body>
</html>
",
        form = form(),
        links = links(&world.shop().links()),
        list = list(shown),
    )
}

fn form() -> String {
    let option = |value: &str, words: &str| {
        format!("<option value=\"{}\">{}</option>", escaped(value), escaped(words))
    };
    let goods = GOODS.map(|(name, price)| option(name, &format!("{name}, {}", money(price)))).concat();
    let cards = CARDS.map(|card| option(card, &format!("a {card} card"))).concat();
    format!(
        "<form method=\"post\" action=\"/orders\">
<label>What <select name=\"sku\">{goods}</select></label>
<label>How many <input name=\"quantity\" type=\"number\" min=\"1\" max=\"{MAX_QUANTITY}\" value=\"1\" required></label>
<label>Paid by <select name=\"card\">{cards}</select></label>
<button>Order</button>
</form>"
    )
}

/// A service, with its mood and buttons for others.
fn service(service: &Service) -> String {
    let (name, mood) = (escaped(service.kind().name()), service.mood().name());
    let button = |choice: Mood| {
        let (choice, pressed) = (choice.name(), choice.name() == mood);
        format!("<button name=\"mood\" value=\"{choice}\" aria-pressed=\"{pressed}\">{choice}</button>")
    };
    let buttons = Mood::CHOICE.map(button).concat();
    format!(
        "<tr><td><a href=\"{url}/ledger\">{name}</a></td>\
         <td><form method=\"post\" action=\"/moods\"><input type=\"hidden\" name=\"service\" value=\"{name}\">{buttons}</form></td></tr>",
        url = escaped(&service.url()),
    )
}

fn links(links: &[Link]) -> String {
    let items = links.iter().map(|link| {
        // Nothing but web addresses: a `javascript:` one would be run.
        let is_web = link.url.starts_with("http://") || link.url.starts_with("https://");
        let url = if is_web { escaped(&link.url) } else { "/".to_owned() };
        format!("<li><a href=\"{url}\">{}</a></li>", escaped(&link.name))
    });
    let items: String = items.collect();
    if items.is_empty() { items } else { format!("<ul class=\"links\">{items}</ul>") }
}

/// The list alone, as the page asks for it again.
pub(super) fn list(shown: &Shown) -> String {
    let mut html = String::from("<p>");
    for (kind, mood) in shown.moods {
        let _ = write!(
            html,
            "{} is <span class=\"mood {mood}\">{mood}</span>. ",
            kind.name(),
            mood = mood.name()
        );
    }
    html.push_str("</p><p class=\"counts\">");
    for status in Status::ALL {
        let (name, count) = (status.name(), shown.counts.get(&status).copied().unwrap_or(0));
        let _ = write!(html, "<span class=\"status {name}\">{count} {name}</span> ");
    }
    html.push_str(
        "</p><table><thead><tr><th>order</th><th>what</th><th>paid</th><th>status</th><th>age</th><th></th></tr></thead><tbody>",
    );
    for row in &shown.rows {
        line(&mut html, row, shown.now_ms);
    }
    html.push_str("</tbody></table>");
    html
}

fn line(html: &mut String, row: &Row, now_ms: i64) {
    let (status, order) = (row.status.name(), &row.order);
    let age = (now_ms - row.placed_at_ms).max(0) / 1_000;
    let _ = write!(
        html,
        "<tr id=\"order-{number}\"><td title=\"task {task}\">{number}</td><td>{quantity} {sku}</td><td>{paid}, {card}</td>\
         <td><span class=\"status {status}\">{status}</span></td><td>{age} s</td><td class=\"words\">{words}</td></tr>",
        number = order.order,
        task = row.task,
        quantity = order.quantity,
        sku = escaped(&order.sku),
        paid = money(order.total_cents),
        card = escaped(&order.card),
        words = escaped(&row.words),
    );
}

fn money(cents: u32) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

#[cfg(test)]
mod tests {
    use steadfast::TaskId;

    use super::*;
    use crate::order::Order;

    const NASTY: &str = "<script>alert(1)</script>\" onclick='x' &amp;";
    const HARMLESS: &str = "&lt;script&gt;alert(1)&lt;/script&gt;&quot; onclick=&#39;x&#39; &amp;amp;";

    #[test]
    fn everything_from_outside_is_escaped() {
        assert_eq!(escaped(NASTY), HARMLESS);
        let order = Order {
            order: 7,
            sku: NASTY.to_owned(),
            quantity: 2,
            card: NASTY.to_owned(),
            total_cents: 5_980,
        };
        let row = Row {
            order,
            status: Status::Failed,
            words: NASTY.to_owned(),
            task: TaskId::from_u128(7),
            placed_at_ms: 1_000,
            changed_at_ms: 1_000,
        };
        let moods = Kind::ALL.map(|kind| (kind, Mood::Well));
        let shown = Shown { rows: vec![row], counts: [(Status::Failed, 1)].into(), moods, now_ms: 4_000 };
        let html = list(&shown);
        assert!(!html.contains("<script") && !html.contains("onclick='"), "{html}");
        assert_eq!(html.matches(HARMLESS).count(), 3, "{html}");
        assert!(html.contains("59.80") && html.contains("3 s") && html.contains("1 failed"), "{html}");
    }

    #[test]
    fn a_link_leads_to_the_web_and_nowhere_else() {
        let to = |url: &str| links(&[Link { name: NASTY.to_owned(), url: url.to_owned() }]);
        assert_eq!(
            to("http://127.0.0.1:1/\"x"),
            format!(
                "<ul class=\"links\"><li><a href=\"http://127.0.0.1:1/&quot;x\">{HARMLESS}</a></li></ul>"
            )
        );
        assert!(to("javascript:alert(1)").contains("href=\"/\""));
        assert_eq!(links(&[]), "");
    }
}
