import Notifications

/// Which signals a device wants, one bit each.
package struct SignalSet: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The set with the bit of that position in ``SignalNames``, from 0 to 63.
    package init(position: Int) {
        self.init(rawValue: 1 &<< UInt64(position))
    }

    /// The bits that every ``SignalNames`` gives to ``Signal/wellKnown``, which are the ones on disk.
    static let wellKnown = SignalSet(rawValue: (1 &<< UInt64(Signal.wellKnown.count)) - 1)
}
