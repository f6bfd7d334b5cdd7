//! Colours and labels.

/// Class of messages with one appearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MessageClass {
    Proposal,
    Vote,
    Commit,
    Asking,
    Taking,
    Checkpoint,
    Sync,
    Other,
    Noise,
}

impl MessageClass {
    /// Returns the class of a label; repetitive messages are noise.
    pub(super) fn of(label: &str) -> Self {
        match label {
            "pre-prepare" | "raft-append" | "block" => Self::Proposal,
            "prepare" | "raft-vote" | "raft-pre-vote" => Self::Vote,
            "commit" | "raft-appended" => Self::Commit,
            "view-change" | "raft-vote-request" | "raft-pre-vote-request" | "raft-timeout-now" => Self::Asking,
            "new-view" => Self::Taking,
            "checkpoint" | "raft-snapshot" => Self::Checkpoint,
            "block-request" | "block-response" | "raft-append-rejected" => Self::Sync,
            "transaction" | "raft-heartbeat" | "raft-heartbeat-answer" => Self::Noise,
            other if other.contains("attest") || other.contains("vote") => Self::Vote,
            other if other.contains("block") || other.contains("propos") => Self::Proposal,
            _ => Self::Other,
        }
    }

    /// Returns the CSS class.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Proposal => "mp",
            Self::Vote => "mv",
            Self::Commit => "mc",
            Self::Asking => "ma",
            Self::Taking => "mt",
            Self::Checkpoint => "mk",
            Self::Sync => "ms",
            Self::Other => "mo",
            Self::Noise => "mn",
        }
    }

    /// Returns the colour.
    pub(super) const fn colour(self) -> &'static str {
        match self {
            Self::Proposal => "#1f6feb",
            Self::Vote => "#0e9aa7",
            Self::Commit => "#2da44e",
            Self::Asking => "#d9730d",
            Self::Taking => "#bf3989",
            Self::Checkpoint => "#6e7781",
            Self::Sync => "#8a6d3b",
            Self::Other => "#8250df",
            Self::Noise => "#d0d7de",
        }
    }

    pub(super) const ALL: [Self; 9] = [
        Self::Noise,
        Self::Checkpoint,
        Self::Sync,
        Self::Other,
        Self::Commit,
        Self::Vote,
        Self::Proposal,
        Self::Asking,
        Self::Taking,
    ];
}

/// Returns a label without the protocol's name.
pub(super) fn short(label: &str) -> &str {
    ["raft-", "pbft-", "pos-", "dpos-", "poa-"].iter().find_map(|prefix| label.strip_prefix(prefix)).unwrap_or(label)
}

/// Returns the name of a round in the protocol of this genesis section. One of one's own that wraps a built-in protocol is known by its
/// name, which begins with that protocol's: `pbft-forgets-promises` has views.
pub(super) fn round_name(consensus: &str) -> &'static str {
    let name = protocol(consensus);
    match name.split('-').next().unwrap_or_default() {
        "raft" => "term",
        "pbft" => "view",
        "pos" => "epoch",
        _ => "round",
    }
}

/// Returns the name of the protocol for readers.
pub(super) fn protocol_name(consensus: &str) -> String {
    match protocol(consensus).as_str() {
        "raft" => "Raft".to_owned(),
        "pbft" => "PBFT".to_owned(),
        "poa" => "proof of authority".to_owned(),
        "pos" => "proof of stake".to_owned(),
        "dpos" => "delegated proof of stake".to_owned(),
        other => other.to_owned(),
    }
}

fn protocol(consensus: &str) -> String {
    let section: serde_json::Value = serde_json::from_str(consensus).unwrap_or_default();
    let field = |name: &str| section.get(name).and_then(serde_json::Value::as_str);
    // One of one's own has a name beside.
    let name = field("protocol").map(|name| if name == "own" { field("name").unwrap_or(name) } else { name });
    name.unwrap_or("no protocol").to_owned()
}

/// Returns the fill of a round's band: of the leader, of the others, and of the text on it.
pub(super) const fn band(round: u64) -> (&'static str, &'static str, &'static str) {
    match round % 6 {
        0 => ("#7aa7e8", "#dbe8fa", "#0b3b82"),
        1 => ("#e8b25c", "#fbecd0", "#7a4a00"),
        2 => ("#86c27f", "#dff1dc", "#1b5e20"),
        3 => ("#b99ae0", "#ece2f8", "#4a1f86"),
        4 => ("#e39bb8", "#f9e0ea", "#85214f"),
        _ => ("#7cc5c9", "#d9f0f1", "#0b5c60"),
    }
}

/// Formats milliseconds for readers.
pub(super) fn millis(ns: u64) -> String {
    match (ns / 1_000_000, ns % 1_000_000 / 1_000) {
        (0, micros) if micros > 0 => format!("{micros} µs"),
        (millis, micros) if millis < 10 && micros > 0 => format!("{millis}.{} ms", micros / 100),
        (millis, _) => format!("{} ms", grouped(millis)),
    }
}

/// Groups digits by three.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Shortens hashes and addresses to their first digits.
pub(super) fn short_hashes(text: &str) -> String {
    const KEPT: usize = 8;
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let digits = rest.strip_prefix("0x").unwrap_or(rest);
        let length = digits.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(digits.len());
        let prefix = rest.len() - digits.len();
        if length >= 32 {
            out.push_str(&rest[..prefix + KEPT]);
            out.push('…');
            rest = &rest[prefix + length..];
        } else {
            let taken = (prefix + length).max(first.len_utf8());
            out.push_str(&rest[..taken]);
            rest = &rest[taken..];
        }
    }
    out
}

/// Returns the style sheet.
pub(super) fn sheet() -> String {
    let mut out = String::from(
        "text{font-family:Inter,'Segoe UI','DejaVu Sans',Helvetica,Arial,sans-serif;font-size:12px;fill:#1f2328}\
         .t{font-size:18px;font-weight:600}.f{font-size:12.5px;fill:#57606a}.n{font-weight:600;font-size:12.5px}\
         .s{font-size:10.5px}.g{fill:#57606a}.w{fill:#fff;font-weight:600;font-size:10px}.m{text-anchor:middle}\
         .e{text-anchor:end}.r{fill:#cf222e;font-weight:600}.o{fill:#b35900;font-weight:600}\
         .h{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}",
    );
    for kind in MessageClass::ALL {
        let (class, colour) = (kind.class(), kind.colour());
        let (wide, faint) = match kind {
            MessageClass::Noise => ("0.8", ";opacity:.7"),
            MessageClass::Asking | MessageClass::Taking => ("1.7", ""),
            _ => ("1.3", ";opacity:.85"),
        };
        out.push_str(&format!(".{class}{{stroke:{colour};stroke-width:{wide};fill:none{faint}}}"));
        out.push_str(&format!(".{class}h{{fill:{colour}{faint}}}"));
    }
    out
}
