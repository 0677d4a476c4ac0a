//! The storefront: one page on loopback, on which orders are placed and watched. It is made by the server and works without
//! JavaScript; with it, the list follows by itself.
//!
//! Whoever may open a page on this machine may use it, and nobody else: requests that name another host, and those that another
//! site's page has sent, are refused.

mod form;
mod live;
mod page;

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::body::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, HeaderValue, LOCATION, ORIGIN,
};
use hyper::header::{REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use hyper::{Method, Request, Response, StatusCode};

use crate::error::Error;
use crate::mood::Mood;
use crate::order::{GOODS, Wanted};
use crate::service::Kind;
use crate::wire::{self, Body, BreakOff, Door, Handle, Server};
use crate::world::World;
use form::Form;

/// Orders that the page shows, the newest.
pub(crate) const SHOWN: usize = 100;
/// Orders of the button for many.
pub(crate) const BURST: usize = 25;

/// Scripts and styles of this server only, and nobody may show the page inside of another.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The page's server; it stops when dropped.
#[derive(Debug)]
pub struct Storefront {
    server: Server,
}

#[derive(Debug)]
struct Counter {
    world: Arc<World>,
    /// `127.0.0.1:PORT` and `localhost:PORT`: what requests call this server.
    names: [String; 2],
}

impl Storefront {
    /// Opens the storefront on a port of 127.0.0.1; 0 is any free one.
    ///
    /// # Errors
    /// The port cannot be had.
    pub async fn open(world: Arc<World>, port: u16) -> Result<Self, Error> {
        let door = Door::take(port).await?;
        let names = [door.address.to_string(), format!("localhost:{}", door.address.port())];
        Ok(Self { server: door.serve(Arc::new(Counter { world, names })) })
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Where it is, as `http://127.0.0.1:PORT/`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.address())
    }
}

impl Handle for Counter {
    async fn handle(&self, request: Request<Bytes>) -> Result<Response<Body>, BreakOff> {
        let mut response = match self.refusal(&request) {
            Some(refusal) => refusal,
            None => self.answer(&request).await.unwrap_or_else(|error| failed(&error)),
        };
        let headers = response.headers_mut();
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(response)
    }
}

impl Counter {
    /// What is refused before anybody looks at it: another site's page could otherwise place orders here.
    fn refusal(&self, request: &Request<Bytes>) -> Option<Response<Body>> {
        let header =
            |name: HeaderName| request.headers().get(name).map(|value| value.to_str().unwrap_or_default());
        let is_own = |name: &str| self.names.iter().any(|own| own == name);
        if !header(HOST).is_some_and(is_own) {
            let words = format!("this server is called http://{}/\n", self.names[0]);
            return Some(wire::text(StatusCode::MISDIRECTED_REQUEST, words));
        }
        let from = header(ORIGIN).map(|origin| origin.strip_prefix("http://").unwrap_or_default());
        if request.method() == Method::POST && from.is_some_and(|from| !is_own(from)) {
            return Some(wire::text(StatusCode::FORBIDDEN, "orders are placed from the shop's own page\n"));
        }
        None
    }

    async fn answer(&self, request: &Request<Bytes>) -> Result<Response<Body>, Error> {
        let world = &*self.world;
        Ok(match (request.method(), request.uri().path()) {
            (&Method::GET, "/") => html(page::whole(world, &page::Shown::read(world).await?)),
            (&Method::GET, "/list") => html(page::list(&page::Shown::read(world).await?)),
            (&Method::GET, "/events") => live::events(world.orders().news()),
            (&Method::GET, "/shop.css") => {
                wire::answer(StatusCode::OK, "text/css; charset=utf-8", include_str!("shop.css"))
            }
            (&Method::GET, "/shop.js") => {
                wire::answer(StatusCode::OK, "text/javascript; charset=utf-8", include_str!("shop.js"))
            }
            (&Method::POST, "/orders") => {
                world.orders().place(Form::of(request).wanted()?).await?;
                to_the_page()
            }
            (&Method::POST, "/burst") => {
                world.orders().place_all(burst()).await?;
                to_the_page()
            }
            (&Method::POST, "/moods") => {
                let (kind, mood) = Form::of(request).mood()?;
                world.town().service(kind).set(mood);
                to_the_page()
            }
            (_, "/" | "/list" | "/events" | "/shop.css" | "/shop.js" | "/orders" | "/burst" | "/moods") => {
                wire::text(StatusCode::METHOD_NOT_ALLOWED, "GET shows, POST changes\n")
            }
            _ => wire::text(StatusCode::NOT_FOUND, "there is no such page: the shop is at /\n"),
        })
    }
}

/// One of everything that can be sent, over and over.
fn burst() -> Vec<Wanted> {
    let good = GOODS.iter().filter(|(name, _)| *name != crate::order::CURSED);
    good.cycle().take(BURST).map(|(name, _)| Wanted::one(name)).collect()
}

fn html(text: String) -> Response<Body> {
    wire::answer(StatusCode::OK, "text/html; charset=utf-8", text)
}

/// A reload shows the page, and does not order again.
fn to_the_page() -> Response<Body> {
    let mut response = wire::text(StatusCode::SEE_OTHER, "");
    response.headers_mut().insert(LOCATION, HeaderValue::from_static("/"));
    response
}

fn failed(error: &Error) -> Response<Body> {
    let status = match error {
        Error::BadOrder(_) => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut response = wire::text(status, format!("{}\n", error.whole()));
    *response.status_mut() = status;
    response
}

impl Form {
    fn wanted(&self) -> Result<Wanted, Error> {
        let quantity = self.field("quantity");
        let quantity = quantity.trim().parse().map_err(|_| {
            let words = "the quantity is no number: give one from 1 to 99";
            Error::BadOrder(words.to_owned())
        })?;
        Wanted::new(self.field("sku"), quantity, self.field("card"))
    }

    fn mood(&self) -> Result<(Kind, Mood), Error> {
        let (kind, mood) = (Kind::named(self.field("service")), Mood::named(self.field("mood")));
        kind.zip(mood).ok_or_else(|| {
            let services = Kind::ALL.map(Kind::name).join(", ");
            let moods = Mood::CHOICE.map(Mood::name).join(", ");
            Error::BadOrder(format!("give a service ({services}) and a mood ({moods})"))
        })
    }
}
