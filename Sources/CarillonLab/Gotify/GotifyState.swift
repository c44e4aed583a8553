/// What the lab's Gotify knows.
struct GotifyState: Sendable {
    private var applications: [(number: Int64, application: GotifyApplication)] = []
    private var lastApplication: Int64 = 0
    private var lastMessage: Int64 = 0

    init(_ applications: [GotifyApplication]) {
        for application in applications {
            declare(application)
        }
    }

    mutating func declare(_ application: GotifyApplication) {
        remove(application.token)
        lastApplication += 1
        applications.append((lastApplication, application))
    }

    /// The token is good no more.
    mutating func remove(_ token: String) {
        applications.removeAll { $0.application.token == token }
    }

    func application(of token: String?) throws(GotifyError) -> (number: Int64, application: GotifyApplication) {
        guard let token, let found = applications.first(where: { $0.application.token == token }) else {
            throw .unauthorized
        }
        return found
    }

    mutating func nextMessage() -> Int64 {
        lastMessage += 1
        return lastMessage
    }
}
