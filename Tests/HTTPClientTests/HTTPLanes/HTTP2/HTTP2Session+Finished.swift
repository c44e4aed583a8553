@testable import HTTPClient

extension HTTP2Session {
    /// Returns all exchanges that have ended since the last call.
    func takeFinished() -> [Finished] {
        var all: [Finished] = []
        while let one = nextFinished() { all.append(one) }
        return all
    }
}
