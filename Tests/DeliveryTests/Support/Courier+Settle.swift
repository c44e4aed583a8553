import Dispatch

@testable import Delivery

extension SerialMailbox {
    /// Returns when what is being worked off is done.
    func settle() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }
}

extension Courier {
    /// Returns when what has arrived so far is decided and on disk.
    func settle() async {
        await mailbox.settle()
        await writer.mailbox.settle()
    }
}
