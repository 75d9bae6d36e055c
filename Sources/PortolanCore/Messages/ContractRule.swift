// SPDX-License-Identifier: Apache-2.0

/// A rule of the contract between a handler and the core, with its published ID.
public struct ContractRule: Hashable, Sendable, CustomStringConvertible {
    public let id: String

    package init(id: String) { self.id = id }

    public var description: String { id }
}

/// The rules that the core enforces during a load.
extension ContractRule {
    public static let noEventFromMake = Self(id: "LIFE-01")
    public static let noEventBeforeStart = Self(id: "LIFE-04")
    public static let responseFirst = Self(id: "ORDER-01")
    public static let oneEnd = Self(id: "ORDER-02")
    public static let nothingAfterEnd = Self(id: "ORDER-03")
    public static let nothingAfterRedirect = Self(id: "ORDER-04")
    public static let eventsAreSerial = Self(id: "ORDER-05")
    public static let oneResponse = Self(id: "ORDER-08")
    public static let confirmsOnlyWhatWasOffered = Self(id: "ORDER-10")
    public static let headBeforeBodyBeforeTrailers = Self(id: "ORDER-13")
    public static let lengthIsKept = Self(id: "BODY-02")
    public static let pauseIsKept = Self(id: "FLOW-01")
    public static let stoppedIsLast = Self(id: "FLOW-06")
    public static let noFinishWhilePaused = Self(id: "FLOW-07")
    public static let stopIsKept = Self(id: "CANCEL-01")
    public static let confirmedOrReplaced = Self(id: "CACHE-02")
    public static let noDataAfterConfirmation = Self(id: "CACHE-03")

    /// The text of the rule, for an error message.
    public var sentence: String {
        Self.sentences[self] ?? "a rule of the contract was broken"
    }

    private static let sentences: [Self: String] = [
        noEventFromMake: "an event came while the load was being made; report nothing before startLoading",
        noEventBeforeStart: "an event came before the load was started; report nothing before startLoading",
        responseFirst: "the response has to come before data, trailers and the finish",
        oneEnd: "a load ended twice; report exactly one of finished, failed or a redirect that is followed",
        nothingAfterEnd: "an event came after the load's end",
        nothingAfterRedirect: "no event may come after a redirect that was followed, and only its response and body after one that was not",
        eventsAreSerial: "two events of one load overlapped; wait until the client has returned",
        oneResponse: "a second response came from a handler that does not declare multipart",
        confirmsOnlyWhatWasOffered: "a cached response was confirmed but none was offered",
        headBeforeBodyBeforeTrailers:
            "interim responses, redirects and confirmations must come before the response; only the end may follow trailers",
        lengthIsKept: "the body's length differs from the expected length that the response announced",
        pauseIsKept: "an event was delivered after the client returned 'pause'; wait for resumeLoading",
        stoppedIsLast: "an event was delivered after the client returned 'stopped'",
        noFinishWhilePaused: "the load finished while it was paused; wait for resumeLoading",
        stopIsKept: "an event was delivered after stopLoading had returned",
        confirmedOrReplaced: "a cached response was both confirmed and replaced",
        noDataAfterConfirmation: "data came after the cached response was confirmed",
    ]
}
