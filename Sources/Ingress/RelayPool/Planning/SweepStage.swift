import Nostr

/// One filter of a catch-up, read page after page.
struct SweepStage: Hashable, Sendable {
    /// Without a limit.
    let filter: Filter
    let reading: Reading
    /// Pages that are read at most.
    let pages: Int
}
