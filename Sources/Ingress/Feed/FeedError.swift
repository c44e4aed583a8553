/// Why a feed cannot begin.
package struct FeedError: Error, Sendable, CustomStringConvertible {
    package let description: String

    static func missing(_ path: String) -> FeedError {
        FeedError(description: "\(path) does not exist; for programs to write into, make a FIFO: mkfifo -m 660 \(path)")
    }

    static func cannotOpen(_ path: String, _ reason: String) -> FeedError {
        FeedError(description: "cannot open \(path): \(reason)")
    }

    /// A FIFO is held open on both sides, which takes the right to write as well.
    static func cannotOpenFIFO(_ path: String, _ reason: String) -> FeedError {
        FeedError(description: "cannot open the FIFO \(path) for reading and writing, which is needed: \(reason)")
    }

    static func neitherFileNorFIFO(_ path: String) -> FeedError {
        FeedError(description: "\(path) is neither a file nor a FIFO")
    }

    static func noDescriptor(_ reason: String) -> FeedError {
        FeedError(description: "cannot wait for a feed: \(reason)")
    }
}
