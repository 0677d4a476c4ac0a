//! TOML.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Key, Limits, Node, Place, Places, Syntax, Value, table};

pub(super) fn parse(text: &str) -> Result<Node, Syntax> {
    let places = Places::new(text);
    let parsed = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(Place::START, |span| places.at(span.start));
        Syntax::new(at, error.message())
    })?;
    let mut reader = Reader { places, limits: Limits::default() };
    let value = reader.map(parsed.get_ref(), 0)?;
    Ok(Node { value, at: Place::START })
}

struct Reader<'a> {
    places: Places<'a>,
    limits: Limits,
}

impl Reader<'_> {
    fn map(&mut self, entries: &DeTable<'_>, depth: usize) -> Result<Value, Syntax> {
        let mut map = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let key = Key { name: key.get_ref().to_string(), at: self.places.at(key.span().start) };
            map.push((key, self.node(value, depth + 1)?));
        }
        map.sort_by_key(|(key, _)| key.at); // as written: the parser sorts by name
        table(map)
    }

    fn node(&mut self, value: &Spanned<DeValue<'_>>, depth: usize) -> Result<Node, Syntax> {
        let at = self.places.at(value.span().start);
        self.limits.count(at, depth)?;
        let value = match value.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(number) => {
                let digits = i64::from_str_radix(number.as_str(), number.radix());
                Value::Int(digits.map_err(|_| Syntax::new(at, "the number is too large"))?)
            }
            DeValue::Float(number) => {
                let parsed = number.as_str().parse();
                Value::Float(parsed.map_err(|_| Syntax::new(at, "this is not a number"))?)
            }
            DeValue::Boolean(value) => Value::Bool(*value),
            DeValue::Datetime(time) => Value::Text(time.to_string()),
            DeValue::Array(items) => {
                let items: Result<_, _> = items.iter().map(|item| self.node(item, depth + 1)).collect();
                Value::List(items?)
            }
            DeValue::Table(entries) => self.map(entries, depth)?,
        };
        Ok(Node { value, at })
    }
}
