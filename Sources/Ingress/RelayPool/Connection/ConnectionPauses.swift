/// How long a relay is left alone after failures: from half of these times to the whole, so that what failed together does not come
/// back together. In milliseconds.
package struct ConnectionPauses: Sendable {
    /// After a first failure; it doubles with each that follows.
    package var first: Int64 = 1_000
    /// What the doubling ends at.
    package var longest: Int64 = 600_000
    /// Failures in a row after which a relay rests.
    package var failuresBeforeRest = 10
    /// The same for a relay that was never connected to.
    package var failuresOfUnknown = 5
    /// How long a relay rests, if a user named it. Relays of the operator's are tried on and on.
    package var rest: Int64 = 3_600_000
    /// A connection that lasted so long makes former failures forgotten.
    package var proof: Int64 = 60_000

    package init() {}
}
