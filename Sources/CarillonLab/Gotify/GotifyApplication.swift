/// Who may send to the lab's Gotify server.
public struct GotifyApplication: Sendable, Hashable {
    /// 15 characters that begin with `A`.
    public var token: String
    /// The title of messages that bring none.
    public var name: String
    /// The priority of messages that bring none.
    public var defaultPriority: Int

    /// Takes a token of any form. What is left out is that of the one application which a lab has by default.
    public init(token: String = "Acarillon.lab01", name: String = "Carillon", defaultPriority: Int = 5) {
        self.token = token
        self.name = name
        self.defaultPriority = defaultPriority
    }
}
