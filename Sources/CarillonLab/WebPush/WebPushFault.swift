/// What is wrong with a message, in no service's words.
struct WebPushFault: Error, Equatable {
    enum Kind {
        case badPath
        case badMethod
        case unknownSubscription
        case goneSubscription
        case missingAuthorization
        case badAuthorization
        case badPublicKey
        case badToken
        case keyMismatch
        case missingTTL
        case badTTL
        case badUrgency
        case badTopic
        case badEncryption
        case tooLarge
    }

    let kind: Kind
    /// What exactly was wrong, in a sentence for people.
    let detail: String

    init(_ kind: Kind, _ detail: String) {
        self.kind = kind
        self.detail = detail
    }
}
