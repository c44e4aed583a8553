/// Why an event is not a zap receipt to be believed (NIP-57).
package enum ZapReceiptError: Error, Hashable, Sendable, CustomStringConvertible {
    case notAReceipt
    case noRequest
    case wrongRecipient
    case noAmount
    case otherAmount
    case forgedRequest

    package var description: String {
        switch self {
        case .notAReceipt: "a zap receipt must be of kind 9735"
        case .noRequest: "the description of a zap receipt must be a zap request, an event of kind 9734"
        case .wrongRecipient: "a zap receipt and its request must name one recipient, the same, in p"
        case .noAmount: "bolt11 of a zap receipt must be a Lightning invoice with an amount"
        case .otherAmount: "the invoice of a zap receipt must be of the amount that its request asks for"
        case .forgedRequest: "the request in a zap receipt must have the id and the signature of its sender"
        }
    }
}
