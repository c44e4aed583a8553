/// The content of a zap receipt (NIP-57): sender, recipient, amount and comment.
///
/// A receipt proves that an invoice was requested, not that it was paid. For the payment, the receipt's author must be
/// trusted. Only the recipient's LNURL server knows whether that author is the recipient's wallet; it is not queried
/// here.
///
/// A class, because the data of an event, which has an optional receipt, is copied for each recipient.
package final class ZapReceipt: Hashable, Sendable {
    /// The id of the zap request. It identifies the zap, even if there are several receipts.
    package let request: EventID
    /// The author of the zap request.
    package let sender: PublicKey
    /// Whether the sender signed with a one-time key to stay anonymous.
    package let isAnonymous: Bool
    package let recipient: PublicKey
    /// The amount of the invoice, in thousandths of a satoshi.
    package let millisats: UInt64
    package let comment: String
    /// The event that was zapped; nil if it was the user.
    package let zapped: EventID?

    package init(
        request: EventID,
        sender: PublicKey,
        isAnonymous: Bool,
        recipient: PublicKey,
        millisats: UInt64,
        comment: String,
        zapped: EventID?
    ) {
        self.request = request
        self.sender = sender
        self.isAnonymous = isAnonymous
        self.recipient = recipient
        self.millisats = millisats
        self.comment = comment
        self.zapped = zapped
    }

    package static func == (left: ZapReceipt, right: ZapReceipt) -> Bool {
        left === right
            || left.request == right.request && left.sender == right.sender && left.isAnonymous == right.isAnonymous
                && left.recipient == right.recipient && left.millisats == right.millisats
                && left.comment == right.comment && left.zapped == right.zapped
    }

    /// One zap has one request.
    package func hash(into hasher: inout Hasher) { hasher.combine(request) }
}

extension ZapReceipt {
    /// Reads `receipt`, whose signature must have been verified before.
    ///
    /// Throws unless it has a request (kind 9734) with a valid signature for the same recipient, and an invoice
    /// (BOLT-11) with the requested amount, if one was requested.
    package convenience init(_ receipt: Event) throws(ZapReceiptError) {
        guard receipt.kind == .zapReceipt else { throw .notAReceipt }
        let request = try Self.request(in: receipt)
        let recipients = Set(request.mentionedKeys)
        guard let recipient = recipients.first, recipients.count == 1, Set(receipt.mentionedKeys) == recipients else {
            throw .wrongRecipient
        }
        guard let invoice = receipt.value(of: "bolt11"), let millisats = InvoiceAmount.millisats(of: invoice) else {
            throw .noAmount
        }
        if let asked = request.value(of: "amount"), UInt64(asked) != millisats { throw .otherAmount }
        do {
            try request.verify()
        } catch {
            throw .forgedRequest
        }
        self.init(
            request: request.id,
            sender: request.pubkey,
            isAnonymous: request.tags.contains { $0.first == "anon" },
            recipient: recipient,
            millisats: millisats,
            comment: request.content,
            zapped: request.values(of: "e").lazy.compactMap { EventID(hex: $0) }.first
        )
    }

    private static func request(in receipt: Event) throws(ZapReceiptError) -> Event {
        guard let description = receipt.value(of: "description"),
            let request = try? Event(json: Array(description.utf8)),
            request.kind == .zapRequest
        else { throw .noRequest }
        return request
    }
}

/// An error that makes a zap receipt invalid (NIP-57).
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
        case .wrongRecipient: "a zap receipt and its request must name the same single recipient in p"
        case .noAmount: "bolt11 of a zap receipt must be a Lightning invoice with an amount"
        case .otherAmount: "the invoice of a zap receipt must have the amount of its request"
        case .forgedRequest: "the request in a zap receipt must have the id and the signature of its sender"
        }
    }
}

/// The amount of a Lightning invoice (BOLT-11), from its human-readable part.
package enum InvoiceAmount {
    /// Bitcoin's main network. The coins of test networks (`lnbcrt`, `lntb`, `lntbs`) have no value.
    private static let prefix = "lnbc"
    /// More bitcoin than can ever exist.
    private static let limit: UInt64 = 21_000_000 * 100_000_000_000

    /// Returns the amount in thousandths of a satoshi; nil if `invoice` is not an invoice, has no amount, or has an
    /// amount that cannot be paid.
    package static func millisats(of invoice: String) -> UInt64? {
        let lowercase = invoice.lowercased()
        guard invoice == lowercase || invoice == invoice.uppercased(),
            let separator = lowercase.lastIndex(of: "1"),
            lowercase.hasPrefix(prefix),
            separator >= lowercase.index(lowercase.startIndex, offsetBy: prefix.count)
        else { return nil }
        return millisats(ofAmount: lowercase[..<separator].dropFirst(prefix.count))
    }

    private static func millisats(ofAmount amount: Substring) -> UInt64? {
        let digits = amount.prefix { $0.isASCII && $0.isNumber }
        guard !digits.hasPrefix("0"), let number = UInt64(digits) else { return nil }
        let (multiplier, divisor): (UInt64, UInt64)
        switch amount[digits.endIndex...] {
        case "": (multiplier, divisor) = (100_000_000_000, 1)
        case "m": (multiplier, divisor) = (100_000_000, 1)
        case "u": (multiplier, divisor) = (100_000, 1)
        case "n": (multiplier, divisor) = (100, 1)
        case "p": (multiplier, divisor) = (1, 10)
        default: return nil
        }
        let (product, overflow) = number.multipliedReportingOverflow(by: multiplier)
        guard !overflow, product.isMultiple(of: divisor), product / divisor <= limit else { return nil }
        return product / divisor
    }
}
