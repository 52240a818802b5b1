// What `reprise call knowledge` answers. Made from the schemas; do not edit.

/** A failure under its older name */
export interface DeadEnd {
  /** What was attempted */
  approach: string;
  /** Additional failure context */
  context: string;
  createdAt: string;
  /** The same, under its name on the disk */
  created_at?: string;
  /** What didn't work */
  fact: string;
  /** Goal context this failure occurred in */
  goal: string | null;
  /** Unique identifier (SHA256 hash prefix) */
  id: string;
  metadata?: Record<string, unknown>;
  reason: string;
}

/** An architectural decision with rationale */
export interface Decision {
  createdAt: string;
  /** The same, under its name on the disk */
  created_at?: string;
  /** The decision made */
  decision: string;
  /** Goal context this decision was made for */
  goal: string | null;
  /** Unique identifier (SHA256 hash prefix) */
  id: string;
  metadata?: Record<string, unknown>;
  /** Why this decision was made */
  rationale: string;
  scope: DecisionScope;
  /** ID of decision this replaces */
  supersedes: string | null;
}

export type DecisionScope = "project" | "file" | "function";

/** A failed approach with context */
export interface Failure {
  /** What was attempted */
  approach: string;
  /** Additional failure context */
  context: string;
  createdAt: string;
  /** The same, under its name on the disk */
  created_at?: string;
  /** What didn't work */
  fact: string;
  /** Goal context this failure occurred in */
  goal: string | null;
  /** Unique identifier (SHA256 hash prefix) */
  id: string;
  metadata?: Record<string, unknown>;
}

/** View `query`: the surest first */
export interface FoundLearnings {
  learnings: Array<Learning>;
}

/** View `context`: what an agent is given before it works on a goal */
export interface GoalContext {
  completed: Array<string>;
  cwd: string | null;
  decisions: Array<string>;
  failures: Array<string>;
  learnings: Array<string>;
  lines: Array<string>;
}

/** View `intelligence`: everything that was learned */
export interface IntelligenceData {
  deadEnds: Array<DeadEnd>;
  decisions: Array<Decision>;
  failures: Array<Failure>;
  learnings: Array<Learning>;
  totalDeadEnds: number;
  totalDecisions: number;
  totalFailures: number;
  totalLearnings: number;
}

/** A fact learned from agent execution, code analysis, or user feedback */
export interface Learning {
  category: LearningCategory;
  /** Confidence score (0.0-1.0) */
  confidence: number;
  /** ISO 8601 timestamp */
  createdAt: string;
  /** The same, under its name on the disk */
  created_at?: string;
  /** The learned information */
  fact: string;
  /** Original goal context if applicable */
  goal: string | null;
  /** Unique identifier (SHA256 hash prefix of category:fact) */
  id: string;
  /** Additional context */
  metadata: Record<string, unknown>;
  /** Source reference (file path, task ID, etc.) */
  source: string | null;
  sourceType: SourceType;
  /** The same, under its name on the disk */
  source_type?: SourceType;
}

/** Classification for filtering and relevance */
export type LearningCategory = "task_completion" | "pattern" | "type" | "api" | "fix" | "decision" | "failure";

/** View `index`: `index.json` */
export interface MemoryIndex {
  byCategory: Record<LearningCategory, number>;
  categories: Array<string>;
  deadEnds: number;
  learnings: number;
  sessionId: string | null;
  stats: MemoryTotals;
  totalDecisions: number;
  totalFailures: number;
  totalLearnings: number;
  version: "1.0";
}

/** Event `memory_learning`, as the disk spells it */
export interface MemoryLearning {
  fact: string;
  learning: StoredLearning;
}

/** View and event `loaded`; empty where nothing was learned */
export interface MemoryLoaded {
  by_category?: Partial<Record<LearningCategory, number>>;
  decisions?: number;
  failures?: number;
  total?: number;
}

/** View `stats`: memory in numbers */
export interface MemoryStats {
  branches: number;
  byCategory: Record<LearningCategory, number>;
  coldFiles: number;
  coldSizeMb: number;
  deadEnds: number;
  hotTurns: number;
  learnings: number;
  sessionId: string | null;
  totalDecisions: number;
  totalFailures: number;
  totalLearnings: number;
  totalTurns: number;
  warmFiles: number;
  warmSizeMb: number;
}

/** What there is, as the disk spells it */
export interface MemoryTotals {
  by_category: Partial<Record<LearningCategory, number>>;
  decisions: number;
  failures: number;
  total: number;
}

/** View `project`: what was done and learned on the way to a goal */
export interface ProjectLearnings {
  completedTasks: Array<string>;
  completed_tasks: Array<string>;
  decisions: Array<Decision>;
  failures: Array<Failure>;
  originalGoal: string | null;
  original_goal: string | null;
  pendingTasks: Array<string>;
  pending_tasks: Array<string>;
}

/** A learning and its score */
export interface ScoredLearning {
  learning: Learning;
  score: number;
}

/** View `search`: best first */
export interface SearchedLearnings {
  results: Array<ScoredLearning>;
}

/** Type of source */
export type SourceType = "task" | "analysis" | "user" | "session";

/** A fact learned from agent execution, code analysis, or user feedback */
export interface StoredLearning {
  category: LearningCategory;
  /** Confidence score (0.0-1.0) */
  confidence: number;
  /** ISO 8601 timestamp */
  created_at: string;
  /** The learned information */
  fact: string;
  /** Original goal context if applicable */
  goal: string | null;
  /** Unique identifier (SHA256 hash prefix of category:fact) */
  id: string;
  /** Additional context */
  metadata: Record<string, unknown>;
  /** Source reference (file path, task ID, etc.) */
  source: string | null;
  source_type: SourceType;
}

/** What `knowledge` answers, by the name of the view */
export interface Views {
  context: GoalContext;
  get: Learning;
  index: MemoryIndex;
  intelligence: IntelligenceData;
  loaded: MemoryLoaded;
  project: ProjectLearnings;
  query: FoundLearnings;
  search: SearchedLearnings;
  stats: MemoryStats;
}
