//! Mails of the service: sent through a relay, or waiting until there is one.

use std::{error::Error, sync::Arc};

use chainbox::{
    platform::{Platform, PublicUrl},
    server::{
        mail::{Mail, MailWorker, RenderError, SmtpConfig, SmtpCredentials},
        outbound::TlsRoots,
    },
};
use tokio::{sync::watch, task::JoinHandle};

use super::args::ServeOptions;
use crate::files;

/// Environment variable with the relay's user and password.
const CREDENTIALS: &str = "CHAINBOX_SMTP_CREDENTIALS";

/// Starts sending mails, where a relay is given.
///
/// # Errors
/// The relay's URL, the address or the credentials are invalid.
pub(super) fn start(
    options: &ServeOptions,
    platform: &Arc<Platform>,
    url: &PublicUrl,
    mut stopped: watch::Receiver<bool>,
) -> Result<Option<JoinHandle<()>>, Box<dyn Error>> {
    let (Some(relay), Some(from)) = (&options.smtp_url, &options.smtp_from) else { return Ok(None) };
    let roots = TlsRoots::of_system().map_err(|cause| files::with_causes(&cause))?;
    let mut config = SmtpConfig::new(relay, from, roots).map_err(|cause| files::with_causes(&cause))?;
    let credentials = match &options.smtp_credentials_file {
        Some(path) => SmtpCredentials::from_file(path).map(Some),
        None => SmtpCredentials::from_env(CREDENTIALS),
    };
    if let Some(credentials) = credentials.map_err(|cause| files::with_causes(&cause))? {
        config = config.with_credentials(credentials).map_err(|cause| files::with_causes(&cause))?;
    }
    let (source, url) = (Arc::clone(platform), url.clone());
    let render = move |entry: &_| {
        let rendered = source.mails().render(entry, &url).map_err(|cause| RenderError::new(cause.to_string()))?;
        Ok(rendered.map(|mail| Mail { to: mail.to, subject: mail.subject, text: mail.body, html: None }))
    };
    let worker = MailWorker::new(Arc::clone(platform), config, Arc::new(render));
    let worker = worker.map_err(|cause| files::with_causes(&cause))?;
    Ok(Some(tokio::spawn(worker.run(async move {
        let _ = stopped.wait_for(|stopped| *stopped).await;
    }))))
}
