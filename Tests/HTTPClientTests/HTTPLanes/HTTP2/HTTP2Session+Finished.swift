@testable import HTTPClient

extension HTTP2Session {
    /// All that has come to an end since the last call.
    func takeFinished() -> [Finished] {
        var all: [Finished] = []
        while let one = nextFinished() { all.append(one) }
        return all
    }
}
