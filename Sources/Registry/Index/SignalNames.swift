import Notifications

/// Which bit stands for which signal: the well-known ones first, then those that the operator's rules raise.
///
/// A registration may name any signal, so bits are not handed out to what registrations name: a few of them could use
/// all bits up. What no rule raises wakes nobody and needs none.
package struct SignalNames: Hashable, Sendable {
    /// How many signals fit besides the well-known ones.
    package static let furtherLimit = 64 - Signal.wellKnown.count

    private let positions: [Signal: Int]

    /// Signals beyond ``furtherLimit`` are left out; `further` may repeat itself.
    package init(further: [Signal] = []) {
        var positions: [Signal: Int] = [:]
        for signal in Signal.wellKnown + further where positions.count < 64 && positions[signal] == nil {
            positions[signal] = positions.count
        }
        self.positions = positions
    }

    /// The set of one signal; empty when it has no bit.
    package subscript(signal: Signal) -> SignalSet {
        positions[signal].map(SignalSet.init(position:)) ?? []
    }

    package func set(of signals: some Sequence<Signal>) -> SignalSet {
        signals.reduce(into: []) { $0.formUnion(self[$1]) }
    }
}
