/// A limit that clients of ours meet, in a word fit for a metric's label.
package enum ClientLimit: String, Sendable, CaseIterable {
    /// Connections open at the same time, of one client or altogether.
    case connections
    /// Connections open at the same time: an idle one of a client that has proven nothing gave its place to a newer
    /// one.
    case idle
    /// Connections opened of late.
    case openings
    /// Frames of late, each of which counts as a message.
    case messages
    /// HTTP requests of late.
    case requests
    /// Bytes of late.
    case bytes
    /// Registrations of late.
    case registrations
    /// Messages for one device of late, whoever they are from.
    case device
    /// What is in work for all clients together.
    case work
}
