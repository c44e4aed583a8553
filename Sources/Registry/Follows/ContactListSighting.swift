/// How a contact list came to us, on which depends whether an author's first one is news.
package enum ContactListSighting: Hashable, Sendable {
    /// Read to know how things stand: it is never news.
    case baseline
    /// From a relay or a feed, which also pass on what was said long ago.
    case relay
    /// Published at our own socket.
    case direct
}
