/// Where a request came in, which is where its answer goes: a stranger on our socket must not make us publish elsewhere.
package enum RequestSource: Hashable, Sendable {
    case ownSocket
    /// A relay, or a feed of one.
    case relays
}
