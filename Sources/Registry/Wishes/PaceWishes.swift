/// When and how often a device wants to be woken (seed 004 section 4).
package struct PaceWishes: Hashable, Sendable {
    /// Nil: at any time.
    package var quiet: QuietHours?
    package var batch: BatchWishes

    package init(quiet: QuietHours? = nil, batch: BatchWishes = BatchWishes()) {
        self.quiet = quiet
        self.batch = batch
    }
}
