import Nostr
import Pipeline
import RemoteSigning

/// The sessions of NIP-46 as the pipeline knows them.
struct PipelineSigner: RemoteSigner {
    let service: RemoteSigningService

    func receive(_ event: Event, register: (Event) -> EventVerdict.Result) {
        service.receive(event) { registration in
            switch register(registration) {
            case .accepted, .duplicate, .outdated: .accepted
            case .refused(let message): .refused(message)
            }
        }
    }

    func admits(_ registration: Event) -> Bool { service.admits(registration) }
}
