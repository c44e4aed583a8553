import Nostr
import Pipeline
import RemoteSigning

/// The pipeline's way to the NIP-46 sessions, and theirs to its registry.
struct SessionDoor: RemoteSigner {
    let service: RemoteSigningService

    func receive(_ event: Event, register: (Event) -> EventVerdict.Result) {
        service.receive(event) { registration in
            switch register(registration) {
            case .accepted, .duplicate, .outdated: .accepted
            case .refused(let message): .refused(message)
            }
        }
    }

    func admits(_ registration: Event) -> Bool {
        service.admits(registration)
    }
}
