import Nostr
import Pipeline
import RemoteSigning

/// The sessions of NIP-46 as the pipeline knows them.
struct PipelineSigner: RemoteSigner {
    let service: RemoteSigningService

    func receive(_ event: Event, from source: EventSource, register: (Event) -> EventVerdict.Result) {
        service.receive(event, from: source.requestSource) { registration in
            switch register(registration) {
            case .accepted, .duplicate, .outdated: .accepted
            case .refused(let message): .refused(message)
            }
        }
    }

    func admits(_ registration: Event) -> Bool { service.admits(registration) }
}

extension EventSource {
    fileprivate var requestSource: RequestSource {
        switch self {
        case .socket: .ownSocket
        case .feed, .relay: .relays
        }
    }
}
