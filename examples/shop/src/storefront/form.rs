//! What was typed into a form.

use hyper::Request;
use hyper::body::Bytes;

/// The most fields of a form that are looked at: the page's own have three.
const MAX_FIELDS: usize = 16;

/// The fields of a form that was sent.
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    pub(super) fn of(request: &Request<Bytes>) -> Self {
        let fields = form_urlencoded::parse(request.body()).into_owned();
        Self(fields.take(MAX_FIELDS).collect())
    }

    /// A field; empty if it was not sent.
    pub(super) fn field(&self, name: &str) -> &str {
        self.0.iter().find(|(given, _)| given == name).map_or("", |(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_browsers_send_them() {
        let form =
            Form::of(&Request::new(Bytes::from_static(b"sku=cursed%2Dlamp&quantity=+2&sku=other&odd")));
        assert_eq!((form.field("sku"), form.field("quantity")), ("cursed-lamp", " 2"));
        assert_eq!((form.field("odd"), form.field("none")), ("", ""));
    }
}
