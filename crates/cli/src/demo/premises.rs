//! Everything that the shop needs, from its opening to its end: three services, a server over their settings, the orders' table in
//! the server's file, and the storefront.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use steadfast_server::{Config, Running};
use steadfast_shop::{Served, Storefront, Town, World};

use super::folder::Folder;

/// The open shop.
#[derive(Debug)]
pub(crate) struct Premises {
    storefront: Storefront,
    world: Arc<World>,
    server: Running,
}

impl Premises {
    /// Opens it with its files in this folder, the storefront and the API on these ports, and the services wherever there is room.
    pub(crate) async fn open(folder: &Folder, port: u16, api_port: u16) -> Result<Self> {
        check_free("--port", port)?;
        check_free("--api-port", api_port)?;
        let town = Arc::new(Town::start().await?);
        let settings = folder.write("steadfast.toml", &town.configuration())?;
        let server = serve(&settings, folder.path(), api_port).await?;
        let shop = Served::new(server.engine().clone(), &url(&server), &database(folder.path()))?;
        let world = Arc::new(World::open(town, Arc::new(shop)).await?);
        let storefront = Storefront::open(Arc::clone(&world), port).await?;
        Ok(Self { storefront, world, server })
    }

    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    /// Where the page is.
    pub(crate) fn storefront(&self) -> String {
        self.storefront.url()
    }

    /// Where the server is, as `--server` takes it.
    pub(crate) fn server(&self) -> String {
        url(&self.server)
    }

    /// Closes all of it, in good order.
    pub(crate) async fn close(self) -> Result<()> {
        let Self { storefront, world, server } = self;
        drop((storefront, world));
        server.shut_down().await.map(drop).map_err(|error| anyhow!("{error}"))
    }
}

/// A server with these settings. It has no ear for `STEADFAST_*` variables: those are of another server's life.
async fn serve(settings: &Path, data: &Path, port: u16) -> Result<Running> {
    let said = vec![
        ("STEADFAST_LISTEN".to_owned(), format!("{}:{port}", Ipv4Addr::LOCALHOST)),
        ("STEADFAST_DATA".to_owned(), data.display().to_string()),
    ];
    let config = Config::read(Some(settings), said.clone()).map_err(|error| anyhow!("{error}"))?;
    let metrics = steadfast_server::install_metrics().map_err(|error| anyhow!("{error}"))?;
    let started = steadfast_server::start(config, Some(metrics), said).await;
    started.map_err(|error| anyhow!("{error}")).context("the server did not start")
}

/// The file of the server's store.
fn database(data: &Path) -> PathBuf {
    data.join("steadfast.db")
}

fn url(server: &Running) -> String {
    format!("http://{}", server.address())
}

/// Says what to do about a port that somebody has, before anything is started.
fn check_free(option: &str, port: u16) -> Result<()> {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => Ok(()),
        Err(error) => bail!(
            "cannot listen on 127.0.0.1:{port}: {error}; end what listens there, or give another port with `{option}`, such \
             as `{option} 0` for any that is free"
        ),
    }
}
