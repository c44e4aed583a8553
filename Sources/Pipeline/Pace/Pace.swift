import Registry

/// How often one device may be woken: what it wished, as far as the operator allows it.
package struct Pace: Hashable, Sendable {
    /// Between the end of one push and the next one, in milliseconds; 0: none.
    package internal(set) var cooldown: Int64 = 0
    /// In milliseconds; 0: none.
    package internal(set) var window: Int64 = 0
    /// Pushes a UTC day; nil: any number.
    package internal(set) var dailyCap: Int?
    package internal(set) var quiet: QuietHours?
    /// Silent pushes an hour; nil: as many as of anything else.
    package internal(set) var silentPerHour: Int?

    package init(
        cooldown: Int64 = 0,
        window: Int64 = 0,
        dailyCap: Int? = nil,
        quiet: QuietHours? = nil,
        silentPerHour: Int? = nil
    ) {
        self.cooldown = cooldown
        self.window = window
        self.dailyCap = dailyCap
        self.quiet = quiet
        self.silentPerHour = silentPerHour
    }

    /// How many matches of a window go before the rest of it waits (seed 004 section 4).
    static let matchesBeforeBatch = 3

    /// Whether it makes any difference.
    var isUnlimited: Bool { !isGathering && quiet == nil }

    /// Whether pushes are counted and follow each other at a distance.
    var isGathering: Bool { cooldown > 0 || window > 0 || dailyCap != nil || silentPerHour != nil }

    /// What a longer cooldown gathers needs no window.
    var hasWindow: Bool { window > cooldown }

    /// When the quiet hours end that hold an alert back at `moment`; nil: none do.
    func quietEnd(at moment: Int64, isMessage: Bool) -> Int64? {
        guard let quiet, !(isMessage && quiet.letsDirectMessagesThrough) else { return nil }
        return quiet.end(at: moment)
    }
}
